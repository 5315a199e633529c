"""From a program's tree to one in which every attribute access is a guard's call. What is written out and never allowed is
refused here, before anything runs. Kinds of nodes that are not listed are refused: new syntax waits until it is understood."""
import ast

from . import guards, names

# Names of the guards. No program can write them: they are no identifiers.
READ, READ_PUBLIC, WRITABLE, ABSENT = "_(read)", "_(read public)", "_(writable)", "_(absent)"
READ_OWN, MATCHED, SLOTS, NEW = "_(read own)", "_(matched)", "_(slots)", "_(new)"

_ALLOWED = frozenset("""
    Module Expression Expr Pass Break Continue Return Delete Assign AugAssign AnnAssign For AsyncFor While If With
    AsyncWith withitem Raise Try TryStar Assert Import ImportFrom alias Global Nonlocal FunctionDef AsyncFunctionDef ClassDef
    Lambda arguments arg keyword ExceptHandler
    BoolOp NamedExpr BinOp UnaryOp IfExp Dict Set ListComp SetComp DictComp GeneratorExp comprehension Await Yield YieldFrom
    Compare Call FormattedValue JoinedStr Constant Attribute Subscript Starred Name List Tuple Slice Index ExtSlice
    Match match_case MatchValue MatchSingleton MatchSequence MatchMapping MatchClass MatchStar MatchAs MatchOr
    Load Store Del And Or Add Sub Mult MatMult Div Mod Pow LShift RShift BitOr BitXor BitAnd FloorDiv Invert Not UAdd USub
    Eq NotEq Lt LtE Gt GtE Is IsNot In NotIn
""".split())


# Bound in one way only, so that what they are bound to is checked.
_CHECKED = {"__match_args__": MATCHED, "__slots__": SLOTS, "__new__": NEW}


# What is written so is no instance of the program's own classes.
_DISPLAYS = (ast.Constant, ast.JoinedStr, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp,
             ast.GeneratorExp, ast.Lambda)


class Refused(Exception):
    """What the text itself shows. `name` is that of the exception it stands for."""

    def __init__(self, name, message, node):
        super().__init__(message)
        self.name, self.line = name, getattr(node, "lineno", None)


class Rewriter(ast.NodeTransformer):
    def __init__(self):
        self._classes = []  # Names of the classes around, for names like __x in them.
        self._in_body = False  # Whether what is visited stands directly in a class's body.

    def visit(self, node):
        if type(node).__name__ not in _ALLOWED:
            raise Refused("SyntaxError", "this kind of statement or expression is not allowed: %s" % type(node).__name__, node)
        return super().visit(node)

    # ---- attributes ----

    def visit_Attribute(self, node):
        name = self._mangled(node.attr)
        self._check_attribute(name, node)
        value = self.visit(node.value)
        if isinstance(node.ctx, ast.Load):
            guard = READ_OWN if name in names.OF_OWN else READ_PUBLIC if guards.may_be_matched(name) else READ
            return ast.copy_location(_call(guard, node, value, ast.Constant(name)), node)
        target = _call(WRITABLE, node, value, ast.Constant(name))
        return ast.copy_location(ast.Attribute(target, name, node.ctx), node)

    def _check_attribute(self, name, node):
        known = name in names.READABLE or name in names.TEXTS or name in names.PUBLIC or name == "__members__"
        known = known or name in names.OF_OWN and type(node.ctx) is ast.Load and not isinstance(node.value, _DISPLAYS)
        if name in names.INTERNALS or names.is_special(name) and not known:
            raise Refused("AttributeError", "access to attribute '%s' is not allowed" % name, node)

    def _mangled(self, name):
        """As the compiler would: __x in a class C is _C__x."""
        stem = self._classes[-1].lstrip("_") if self._classes else ""
        return "_%s%s" % (stem, name) if stem and name.startswith("__") and not name.endswith("__") else name

    def visit_AugAssign(self, node):
        # It reads, too, and past the guard for reading.
        if isinstance(node.target, ast.Attribute) and node.target.attr in names.RAW_REFUSED:
            raise Refused("AttributeError", "attribute '%s' may not be changed in place" % node.target.attr, node)
        return self.generic_visit(node)

    # ---- variables ----

    def visit_Name(self, node):
        if not isinstance(node.ctx, ast.Load):
            self._check_name(node.id, node)
        elif names.is_reserved(node.id) and not self._is_there(node.id):
            # It is there, for the interpreter, but for no program.
            return ast.copy_location(_call(ABSENT, node, ast.Constant(node.id)), node)
        return node

    def _is_there(self, name):
        return name in names.VARIABLES or self._in_body and name in names.DEFINABLE

    def _check_name(self, name, node):
        """A name that the program binds."""
        if not names.is_reserved(name):
            return
        if not self._in_body or name in _CHECKED or not (name in names.DEFINABLE or name in names.CLASS_NAMES):
            raise Refused("NameError", "name '%s' may not be defined" % name, node)

    def visit_arg(self, node):
        self._check_plain(node.arg, node)
        return self.generic_visit(node)

    def visit_keyword(self, node):
        if node.arg is not None:
            self._check_plain(node.arg, node)
        return self.generic_visit(node)

    def visit_Global(self, node):
        for name in node.names:
            self._check_plain(name, node)
        return node

    visit_Nonlocal = visit_Global

    def visit_ExceptHandler(self, node):
        self._check_plain(node.name, node)
        return self.generic_visit(node)

    def _check_plain(self, name, node):
        if name is not None and names.is_reserved(name):
            raise Refused("NameError", "name '%s' may not be defined" % name, node)

    # ---- imports ----

    def visit_Import(self, node):
        for alias in node.names:
            self._check_plain(alias.asname or alias.name, node)
        return node

    def visit_ImportFrom(self, node):
        if any(alias.name == "*" for alias in node.names):
            raise Refused("ImportError", "'from %s import *' is not allowed: name what is needed" % (node.module or "."), node)
        return self.visit_Import(node)

    # ---- scopes ----

    def visit_FunctionDef(self, node):
        checked = self._in_body and node.name == "__new__"
        if not checked:
            self._check_name(node.name, node)
        _without_type_parameters(node)
        node = self._scope(node, False)
        if checked:
            node.decorator_list.insert(0, ast.copy_location(ast.Name(NEW, ast.Load()), node))
        return node

    def visit_AsyncFunctionDef(self, node):
        self._check_name(node.name, node)
        _without_type_parameters(node)
        return self._scope(node, False)

    def visit_Assign(self, node):
        return node if len(node.targets) == 1 and self._is_checked(node, node.targets[0]) else self.generic_visit(node)

    def visit_AnnAssign(self, node):
        if not (node.value and self._is_checked(node, node.target)):
            return self.generic_visit(node)
        node.annotation = self.visit(node.annotation)
        return node

    def _is_checked(self, node, target):
        """Whether it sets one of these, and then to what the guard says."""
        guard = _CHECKED.get(getattr(target, "id", None))
        if not self._in_body or guard is None or guard is NEW:
            return False
        node.value = _call(guard, node.value, self.visit(node.value))
        return True

    def visit_Lambda(self, node):
        return self._scope(node, False)

    def visit_ClassDef(self, node):
        self._check_name(node.name, node)
        _without_type_parameters(node)
        for field in ("decorator_list", "bases", "keywords"):
            setattr(node, field, [self.visit(item) for item in getattr(node, field)])
        self._classes.append(node.name)
        before, self._in_body = self._in_body, True
        node.body = [self.visit(item) for item in node.body]
        self._in_body = before
        self._classes.pop()
        return node

    def _scope(self, node, in_body):
        before, self._in_body = self._in_body, in_body
        node = self.generic_visit(node)
        self._in_body = before
        return node

    # ---- patterns, which read attributes without a call ----

    def visit_MatchClass(self, node):
        for name in node.kwd_attrs:
            self._check_matched(name, node)
        self._check_path(node.cls)
        node.patterns = [self.visit(pattern) for pattern in node.patterns]
        node.kwd_patterns = [self.visit(pattern) for pattern in node.kwd_patterns]
        return node

    def visit_MatchValue(self, node):
        self._check_path(node.value)
        return node

    def visit_MatchMapping(self, node):
        for key in node.keys:
            self._check_path(key)
        self._check_plain(node.rest, node)
        node.patterns = [self.visit(pattern) for pattern in node.patterns]
        return node

    def visit_MatchAs(self, node):
        self._check_plain(node.name, node)
        return self.generic_visit(node)

    def visit_MatchStar(self, node):
        self._check_plain(node.name, node)
        return node

    def _check_path(self, node):
        """A dotted name, or a literal: the compiler takes nothing else there, no guard's call either."""
        for inner in ast.walk(node):
            if isinstance(inner, ast.Attribute):
                self._check_matched(inner.attr, inner)
            elif isinstance(inner, ast.Name):
                self._check_plain(inner.id, inner)

    def _check_matched(self, name, node):
        if not guards.may_be_matched(name):
            raise Refused("AttributeError", "access to attribute '%s' is not allowed in a pattern" % name, node)


def _call(guard, node, *arguments):
    made = ast.Call(ast.Name(guard, ast.Load()), list(arguments), [])
    for part in (made, made.func, *arguments):
        if not hasattr(part, "lineno"):
            ast.copy_location(part, node)
    return made


def _without_type_parameters(node):
    if getattr(node, "type_params", None):
        raise Refused("SyntaxError", "type parameters are not allowed", node)
