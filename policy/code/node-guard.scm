; What leads around any list of denied modules and calls: in force when a request has one.
; language: node

; rule: way-around
; severity: error
; message: Could reach what the request denies without naming it.
; advice: Write out what is meant.
; names: ?dynamic-import ?dynamic-attribute ?module-as-value ?constructor
;        eval.* Function.* vm.* repl.* inspector.* module.* process.binding.* process._linkedBinding.*
;        process.mainModule.* process.dlopen require.cache.* require.extensions.* require.main.* .mainModule .__proto__
;        .binding ._load .createRequire .getBuiltinModule .process .eval .require
;        Reflect.apply Reflect.construct Reflect.ownKeys GeneratorFunction.* AsyncFunction.* vm2.* isolated-vm.*
;        process.getBuiltinModule.call process.getBuiltinModule.apply process.getBuiltinModule.bind
;        require.call require.apply require.bind arguments.* ?html-comment worker_threads.* cluster.* v8.*
;        Object.getOwnPropertyDescriptor.* Object.getOwnPropertyDescriptors.* Error.prepareStackTrace
;        Reflect.getOwnPropertyDescriptor
((with_statement) @at)

; rule: way-around
; severity: error
; message: Runs text as code.
; advice: Hand over a function.
((call_expression function: (_) @f arguments: (arguments . [(string) (template_string) (binary_expression)] @at))
 (#name? @f "setTimeout" "setInterval" "setImmediate"))
