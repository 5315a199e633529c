; On top of `default`, for work that needs no more than its own arithmetic and the files it was given.
; language: python

; rule: dynamic-attribute
; severity: error
; message: Gets an attribute by a name that is not written out.
; advice: Write the name out.
; names: ?dynamic-attribute ?unknown-attribute builtins.setattr builtins.delattr

; rule: namespace
; severity: error
; message: Reaches into a namespace by hand.
; advice: Use the names themselves, or a dict of your own.
; names: builtins.globals builtins.locals builtins.vars sys.modules.* .__dict__ .__class__ .__init__ .__name__

; rule: process-start
; severity: error
; message: Starts another process, or a thread.
; advice: Do the work in one.
; names: multiprocessing.* concurrent.futures.ProcessPoolExecutor threading.Thread concurrent.futures.ThreadPoolExecutor
;        _thread.* os.* signal.* joblib.Parallel

; rule: environment
; severity: error
; message: Reads or changes the surroundings of the program.
; advice: Take input as files or arguments.
; names: os.environ.* os.getenv os.putenv os.unsetenv os.environb.* platform.* pwd.* grp.* getpass.* sysconfig.*
;        sys.path.* sys.exit.* builtins.breakpoint builtins.help builtins.exit builtins.quit builtins.copyright
;        builtins.credits builtins.license

; rule: dynamic-import
; severity: error
; message: Imports by a function.
; advice: Import it by an import statement.
; names: importlib.* pkgutil.* imp.* pydoc.* site.* ensurepip.* pip.* venv.*

; rule: internals
; severity: warning
; message: Uses the interpreter's own tools.
; advice: Use the objects themselves.
; names: inspect.* gc.* dis.* ast.* symtable.* tokenize.* traceback.* sys.* atexit.* weakref.* types.* tracemalloc.*

; rule: file-delete
; severity: warning
; message: Removes files.
; advice: Leave them; the cell is thrown away after the run.
; names: os.remove os.unlink os.rmdir os.removedirs shutil.rmtree shutil.move
