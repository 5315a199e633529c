; What an ordinary calculation or analysis does not do. The form is told in docs/code-rules.md.
; language: python

; rule: process-start
; severity: error
; message: Starts another process.
; advice: Do the work in Python itself.
; names: os.system os.popen os.fork os.forkpty os.posix_spawn os.posix_spawnp os.startfile pty.fork pty.spawn
;        os.execl os.execle os.execlp os.execlpe os.execv os.execve os.execvp os.execvpe
;        os.spawnl os.spawnle os.spawnlp os.spawnlpe os.spawnv os.spawnve os.spawnvp os.spawnvpe
;        subprocess.* popen2.* commands.* multiprocessing.util.spawnv_passfds pexpect.* sh.* plumbum.* invoke.*
;        asyncio.create_subprocess_exec asyncio.create_subprocess_shell
;        asyncio.subprocess.create_subprocess_exec asyncio.subprocess.create_subprocess_shell
;        os.kill os.killpg .subprocess_exec .subprocess_shell

; rule: dynamic-execution
; severity: error
; message: Runs code that does not stand in the source.
; advice: Write the code out, or use a table of functions; ast.literal_eval reads plain data.
; names: builtins.eval.* builtins.exec.* builtins.compile.* builtins.execfile.* code.* codeop.* runpy.*
;        timeit.timeit timeit.repeat timeit.Timer timeit.main cProfile.run cProfile.runctx profile.run profile.runctx
;        trace.Trace bdb.* pdb.* doctest.* types.CodeType types.FunctionType marshal.*
;        pickle.load pickle.loads pickle.Unpickler pickle._load pickle._loads pickle._Unpickler dill.* cloudpickle.*
;        shelve.* joblib.load torch.load pandas.read_pickle
;        yaml.load yaml.unsafe_load yaml.full_load yaml.load_all yaml.unsafe_load_all gettext.c2py
((call
  function: (_) @f
  arguments: (argument_list (keyword_argument name: (identifier) @k value: (true)))) @at
 (#name? @f "numpy.load")
 (#eq? @k "allow_pickle"))

; rule: dynamic-import
; severity: error
; message: Imports a module whose name is not written out.
; advice: Import it by an import statement.
; names: ?dynamic-import builtins.__import__.* importlib.util.* importlib.machinery.* importlib._bootstrap.*
;        importlib._bootstrap_external.* importlib.reload importlib.find_loader importlib.load_module
;        importlib.load_source importlib.load_dynamic importlib.create_dynamic importlib.abc.*
;        zipimport.* pkgutil.get_loader pkgutil.find_loader pkgutil.ImpImporter pkgutil.ImpLoader
;        pydoc.safeimport sys.path_hooks.* sys.meta_path.* site.addsitedir site.addpackage site.execsitecustomize

; rule: dynamic-attribute
; severity: error
; message: Reaches into a module by a name that is not written out.
; advice: Write the name out.
; names: ?dynamic-attribute

; rule: module-as-value
; severity: warning
; message: Hands a module on as a value, so that what is done with it cannot be followed.
; advice: Hand on the function that is meant.
; names: ?module-as-value

; rule: network
; severity: error
; message: Uses the network.
; advice: Bring the data along as a file.
; names: socket.* socketserver.* ssl.* urllib.request.* urllib3.* http.client.* http.server.* httplib.* urllib2.*
;        xmlrpc.* ftplib.* smtplib.* smtpd.* poplib.* imaplib.* nntplib.* telnetlib.* asyncore.* asynchat.*
;        asyncio.open_connection asyncio.start_server asyncio.open_unix_connection asyncio.start_unix_server
;        requests.* httpx.* aiohttp.* pycurl.* paramiko.* fabric.* websocket.* websockets.* boto3.* botocore.*
;        tornado.* twisted.* flask.* fastapi.* uvicorn.* dns.* scapy.* webbrowser.* wsgiref.simple_server.*
;        multiprocessing.connection.* multiprocessing.managers.* _socket.* logging.handlers.SocketHandler
;        logging.handlers.DatagramHandler logging.handlers.HTTPHandler logging.handlers.SMTPHandler
;        logging.config.listen

; rule: native-code
; severity: error
; message: Calls native code directly.
; advice: Use a module made for Python.
; names: ctypes.* _ctypes.* cffi.* _cffi_backend.* numpy.ctypeslib.* sysconfig._init_config_vars mmap.mmap
;        numba.cfunc .enable_load_extension pyximport.* cython.inline weave.* distutils.* setuptools.* llvmlite.* sys.setdlopenflags
;        readline.set_completer signal.pthread_kill faulthandler._sigsegv faulthandler._fatal_error

; rule: reflection
; severity: error
; message: Reaches into the interpreter's internals.
; advice: Use the objects themselves.
; names: .__subclasses__ .__globals__ .__builtins__ .__code__ .__closure__ .__mro__ .__bases__ .__base__ .__loader__
;        .__getattribute__ .__reduce__ .__reduce_ex__ .__spec__ .__func__ .__self__ .__import__ .__subclasshook__
;        .f_globals .f_locals .f_builtins .f_back .f_code .gi_frame .gi_code .cr_frame .cr_code .ag_frame .ag_code
;        .tb_frame .tb_next .mro .func_globals .func_code .im_func .im_self .im_class .co_code .cell_contents
;        builtins.__builtins__.* builtins.__loader__.* builtins.__spec__.* __main__.* builtins.__build_class__.*
;        sys._getframe sys._current_frames sys.settrace sys.setprofile sys.call_tracing sys._current_exceptions
;        sys.addaudithook threading.settrace threading.setprofile sys.displayhook
;        inspect.currentframe inspect.stack inspect.trace inspect.getinnerframes inspect.getouterframes
;        inspect.getattr_static gc.get_objects gc.get_referrers gc.get_referents
;        operator.attrgetter operator.methodcaller types.ModuleType

; rule: file-outside
; severity: error
; message: Names a file outside the work folder.
; advice: Use paths relative to the work folder, or /tmp.
((call function: (_) @f arguments: (argument_list . (_) @at))
 (#name? @f "builtins.open" "os.open" "os.remove" "os.unlink" "os.rename" "os.replace" "os.mkdir" "os.makedirs"
  "os.rmdir" "os.removedirs" "os.listdir" "os.scandir" "os.walk" "os.chdir" "os.chmod" "os.chown" "os.link" "os.symlink"
  "os.readlink" "os.stat" "os.truncate" "os.path.exists" "os.path.isfile" "os.path.getsize" "pathlib.Path"
  "pathlib.PosixPath" "shutil.copy" "shutil.copy2" "shutil.copyfile" "shutil.copytree" "shutil.move" "shutil.rmtree"
  "glob.glob" "glob.iglob" "io.FileIO" "codecs.open" "gzip.open" "bz2.open" "lzma.open" "zipfile.ZipFile"
  "tarfile.open" "sqlite3.connect" "pandas.read_csv" "pandas.read_excel" "pandas.read_json" "pandas.read_parquet"
  "pandas.read_table" "numpy.load" "numpy.loadtxt" "numpy.genfromtxt" "numpy.fromfile" "fileinput.input"
  "linecache.getline" "linecache.getlines")
 (#path-outside-work? @at))
((call function: (_) @f arguments: (argument_list (keyword_argument name: (identifier) @k value: (_) @at)))
 (#any-of? @k "file" "filename" "path" "src" "dst" "source" "target" "name" "database" "filepath_or_buffer" "io")
 (#path-outside-work? @at))
((call function: (_) @f arguments: (argument_list . (_) . (_) @at))
 (#name? @f "os.rename" "os.replace" "os.link" "os.symlink" "shutil.copy" "shutil.copy2" "shutil.copyfile" "shutil.copytree"
  "shutil.move" "shutil.make_archive" "shutil.unpack_archive" "os.renames")
 (#path-outside-work? @at))

; rule: system-change
; severity: error
; message: Changes the system or who the program is.
; advice: The cell is its own; leave it as it is.
; names: os.chroot os.mount os.umount os.setuid os.setgid os.seteuid os.setegid os.setreuid os.setregid os.setresuid
;        os.setresgid os.setgroups os.initgroups os.unshare os.setns os.mknod os.ptsname os.reboot
;        resource.setrlimit resource.prlimit

; rule: encoded-payload
; severity: error
; message: Runs or loads what is hidden in an encoded text.
; advice: Write the code out.
((call
  function: (_) @run
  arguments: (argument_list . (call function: (_) @decode)))
 (#name? @run "builtins.exec" "builtins.eval" "builtins.compile" "marshal.loads" "pickle.loads")
 (#name? @decode "base64.*" "binascii.*" "zlib.*" "codecs.*" "lzma.*" "bz2.*" "gzip.*" "bytes.fromhex" "builtins.bytes.fromhex"))
