; What an ordinary calculation does not do, in JavaScript and TypeScript. The form is told in docs/code-rules.md.
; language: node

; rule: process-start
; severity: error
; message: Starts another process, or ends one.
; advice: Do the work in JavaScript itself.
; names: child_process.* cluster.* process.kill process.abort process.dlopen execa.* shelljs.* cross-spawn.* zx.*

; rule: dynamic-execution
; severity: error
; message: Runs code that does not stand in the source.
; advice: Write the code out, or use a table of functions.
; names: eval.* Function.* vm.* repl.* inspector.* ?constructor v8.setFlagsFromString v8.startupSnapshot.*
;        GeneratorFunction.* AsyncFunction.* vm2.* isolated-vm.* module._compile module.constructor.*
;        module.prototype.* module._extensions.* module.runMain module.register require.extensions.* require.cache.*
;        WebAssembly.* ?html-comment
((call_expression function: (_) @f arguments: (arguments . [(string) (template_string) (binary_expression)] @at))
 (#name? @f "setTimeout" "setInterval" "setImmediate"))

; rule: dynamic-import
; severity: error
; message: Loads a module whose name is not written out.
; advice: Use require or import with a constant name.
; names: ?dynamic-import process.binding.* process._linkedBinding.* process.mainModule.* module.createRequire.*
;        process.getBuiltinModule.call process.getBuiltinModule.apply .mainModule arguments.*

; rule: dynamic-attribute
; severity: error
; message: Reaches into a module or the global object by a name that is not written out.
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
; names: net.* tls.* dgram.* dns.* http.* https.* http2.* fetch.* WebSocket.* XMLHttpRequest.* EventSource.*
;        undici.* axios.* node-fetch.* got.* request.* superagent.* ws.* express.* koa.* fastify.* socket.io.*

; rule: native-code
; severity: error
; message: Calls native code directly.
; advice: Use a module made for JavaScript.
; names: ffi-napi.* ref-napi.* node-gyp.* bindings.* node-addon-api.* koffi.* wasi.*

; rule: reflection
; severity: error
; message: Reaches into the language's internals.
; advice: Use the objects themselves.
; names: .__proto__ .__defineGetter__ .__defineSetter__ .__lookupGetter__ .__lookupSetter__ .callee .caller
;        Reflect.construct Reflect.setPrototypeOf async_hooks.* Error.prepareStackTrace
((with_statement) @at)

; rule: file-outside
; severity: error
; message: Names a file outside the work folder.
; advice: Use paths relative to the work folder, or /tmp.
((call_expression function: (_) @f arguments: (arguments . (_) @at))
 (#name? @f "fs.*")
 (#path-outside-work? @at))

; rule: encoded-payload
; severity: error
; message: Runs what is hidden in an encoded text.
; advice: Write the code out.
((call_expression function: (_) @run arguments: (arguments (call_expression function: (_) @decode) @at))
 (#name? @run "eval" "Function" "setTimeout")
 (#match? @decode "atob|Buffer|decodeURIComponent|unescape"))
