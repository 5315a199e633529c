; What an ordinary script over files of the work folder does not do. The form is told in docs/code-rules.md.
; language: bash

; rule: dynamic-execution
; severity: error
; message: Runs text as code.
; advice: Write the commands out.
; names: eval ?shell-text enable alias

; rule: dynamic-command
; severity: error
; message: Runs a command whose name is computed.
; advice: Write the name out, or use case.
; names: ?dynamic-command

; rule: network
; severity: error
; message: Uses the network.
; advice: Bring the data along as a file.
; names: curl wget nc ncat netcat socat telnet ssh scp sftp rsync ftp tftp dig nslookup host ping traceroute openssl
;        aria2c lynx w3m links nmap tcpdump ip ifconfig route iptables nft ?network-file
((command name: (command_name) @c . argument: (word) @at)
 (#eq? @c "git")
 (#any-of? @at "clone" "fetch" "pull" "push" "ls-remote"))

; rule: system-change
; severity: error
; message: Changes the system or who the script is.
; advice: The cell is its own; leave it as it is.
; names: sudo su doas mount umount chroot unshare nsenter insmod modprobe rmmod sysctl reboot shutdown halt poweroff
;        passwd useradd usermod userdel groupadd chattr setcap mkfs mkswap swapon fdisk parted losetup systemctl service
;        crontab at batch docker podman kubectl apt apt-get dpkg yum dnf pip pip3 npm gdb strace ptrace

; rule: file-outside
; severity: error
; message: Names a file outside the work folder.
; advice: Use paths relative to the work folder, or /tmp.
; names: ?write-outside
((command name: (command_name) @c argument: (_) @at)
 (#any-of? @c "cat" "cp" "mv" "rm" "ln" "touch" "mkdir" "rmdir" "chmod" "chown" "tee" "head" "tail" "less" "more" "tac"
  "source" "." "truncate" "install" "shred" "dd" "tar" "cd" "xxd" "od" "strings" "base64")
 (#path-outside-work? @at))
((file_redirect destination: (_) @at)
 (#path-outside-work? @at)
 (#not-match? @at "^/dev/fd/"))
