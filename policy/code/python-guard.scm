; What leads around any list of denied modules and calls: in force when a request has one.
; language: python

; rule: way-around
; severity: error
; message: Could reach what the request denies without naming it.
; advice: Write out what is meant.
; names: ?dynamic-import ?dynamic-attribute ?unknown-attribute ?module-as-value
;        builtins.eval.* builtins.exec.* builtins.compile.* builtins.execfile.* builtins.__import__.*
;        builtins.globals.* builtins.locals.* builtins.vars.* sys.modules.* __main__.* builtins.breakpoint
;        builtins.__builtins__.* builtins.__loader__.* builtins.__spec__.* builtins.__build_class__.*
;        builtins.help builtins.license builtins.copyright builtins.credits builtins.exit builtins.quit
;        importlib.* imp.* pkgutil.* runpy.* zipimport.* pydoc.* code.* codeop.* pdb.* bdb.* doctest.* timeit.*
;        cProfile.* profile.* trace.* rlcompleter.* ensurepip.* site.* sys.meta_path.* sys.path_hooks.* sys.path.*
;        marshal.* dill.* cloudpickle.* shelve.* joblib.load pandas.read_pickle
;        pickle.load pickle.loads pickle.Unpickler pickle._load pickle._loads pickle._Unpickler
;        yaml.load yaml.unsafe_load yaml.full_load yaml.load_all yaml.unsafe_load_all copyreg.*
;        ctypes.* _ctypes.* cffi.* gc.* sys._getframe sys._current_frames sys.settrace sys.setprofile
;        inspect.currentframe inspect.stack inspect.trace inspect.getinnerframes inspect.getouterframes
;        inspect.getattr_static inspect.getmembers inspect.getmodule inspect.unwrap unittest.mock.* mock.*
;        operator.attrgetter operator.methodcaller types.CodeType types.FunctionType types.ModuleType
;        logging.config.dictConfig logging.config.fileConfig typing.get_type_hints
;        .__subclasses__ .__globals__ .__builtins__ .__code__ .__closure__ .__mro__ .__bases__ .__base__ .__loader__
;        .__getattribute__ .__reduce__ .__reduce_ex__ .__spec__ .__func__ .__self__ .__import__ .__dict__ .__wrapped__
;        .f_globals .f_locals .f_builtins .f_back .f_code .gi_frame .gi_code .cr_frame .cr_code .ag_frame .ag_code
;        .tb_frame .tb_next .mro .func_globals .func_code .im_func .im_self .cell_contents .load_module .exec_module
;        .find_module .find_spec .__getattr__ .__objclass__
;        typing.ForwardRef typing._eval_type inspect.get_annotations dataclasses._create_fn sys.breakpointhook
;        sys.__breakpointhook__ sys.excepthook tkinter.* modulefinder.* idlelib.* lib2to3.* distutils.* setuptools.* pip.*
;        venv.* turtledemo.* cgitb.* compileall.* py_compile.* test.* pandas.eval numexpr.*
;        pty.* gettext.c2py multiprocessing.util.spawnv_passfds multiprocessing.forkserver.* torch.load numpy.ctypeslib.*
;        sympy.sympify sympy.parse_expr sympy.parsing.* string.Formatter .get_field .subprocess_exec .subprocess_shell
;        .enable_load_extension .load_extension
((call
  function: (_) @f
  arguments: (argument_list (keyword_argument name: (identifier) @k value: (true)))) @at
 (#name? @f "numpy.load")
 (#eq? @k "allow_pickle"))
