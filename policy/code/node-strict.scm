; On top of `default`, for work that needs no more than the language itself and the files it was given.
; language: node

; rule: environment
; severity: error
; message: Reads or changes the surroundings of the program.
; advice: Take input as files or arguments.
; names: process.env.* process.exit process.chdir process.setuid process.setgid process.umask os.*
;        process.report.* process.emitWarning process.on process.stdin.*

; rule: process-start
; severity: error
; message: Starts a thread.
; advice: Do the work in one.
; names: worker_threads.* Worker.* SharedWorker.*

; rule: internals
; severity: warning
; message: Uses the interpreter's own tools.
; advice: Use the objects themselves.
; names: module.* v8.* perf_hooks.* trace_events.* diagnostics_channel.* process.memoryUsage Reflect.* Proxy.*

; rule: file-delete
; severity: warning
; message: Removes files.
; advice: Leave them; the cell is thrown away after the run.
; names: fs.rm fs.rmSync fs.rmdir fs.rmdirSync fs.unlink fs.unlinkSync fs.promises.rm fs.promises.rmdir
;        fs.promises.unlink
