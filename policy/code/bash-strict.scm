; On top of `default`, for scripts that only arrange files and text.
; language: bash

; rule: dynamic-execution
; severity: error
; message: Reads another script, or starts another interpreter.
; advice: Put it all in one.
; names: source . exec trap bash sh dash zsh ksh python python3 perl ruby node php awk

; rule: process-control
; severity: error
; message: Controls processes.
; advice: Let them end by themselves.
; names: kill killall pkill nohup setsid disown ulimit renice nice

; rule: file-delete
; severity: warning
; message: Removes files.
; advice: Leave them; the cell is thrown away after the run.
; names: rm rmdir shred unlink
