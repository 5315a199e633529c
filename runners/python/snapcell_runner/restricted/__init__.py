"""Restricted Python (docs/restricted-python.md). A policy for programs inside a cell that holds without it:

  names       which names and kinds of objects are refused, as data
  rewriting   refuses what is written out, and sends every other attribute access through the guards
  guards      decide at run time about attributes and classes
  templates   str.format, whose templates are programs of their own
  modules     the modules that may be imported, as copies of their safe parts
  library     replacements for those parts of them that would get round the guards
  copying     copy.copy and deepcopy, which set attributes
  builtin     the builtins a program has
  context     puts these together
"""
