; What leads around any list of denied commands: in force when a request has one.
; language: bash

; rule: way-around
; severity: error
; message: Could reach what the request denies without naming it.
; advice: Write out what is meant.
; names: eval ?shell-text ?dynamic-command source . alias enable hash ?network-file busybox
