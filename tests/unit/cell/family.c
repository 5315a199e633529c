#include "family.h"

/* An interpreter that waits to be forked; a child becomes the shell of the script on its stdin. */
const char ZYGOTE[] = "import ctypes, os, sys\n"
                      "lib = ctypes.PyDLL('/snapcell/fork/libsnapcell-fork.so')\n"
                      "class Birth(ctypes.Structure):\n"
                      "    _fields_ = [('randomness', ctypes.c_uint8 * 64), ('wall_ns', ctypes.c_int64),\n"
                      "                ('has_runner', ctypes.c_int32), ('has_socket', ctypes.c_int32)]\n"
                      "birth = Birth()\n"
                      "held = open('/etc/passwd'), os.pipe(), os.memfd_create('x')\n"
                      "code = lib.sc_fork_serve(4, None, ctypes.byref(birth))\n"
                      "if code != 1:\n"
                      "    os._exit(50 + code)\n"
                      "script = b''\n"
                      "while part := os.read(0, 65536):\n"
                      "    script += part\n"
                      "os.environ['BIRTH'] = bytes(birth.randomness).hex()\n"
                      "os.execvp('sh', ['sh', '-c', script.decode()])\n";

/* As in test_live_walls.c: everything about a process that says what it may do. A filter more is to be seen.
 */
const char SELF[] =
    "grep -E '^(Umask|Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp:|CoreDumping|Sig(Blk|Cgt)|Cpus_allowed_list)' "
    "/proc/self/status\n"
    "ulimit -a\n"
    "pwd\n"
    "id\n"
    "ls /proc/self/fd\n"
    "cat /proc/self/mountinfo | cut -d' ' -f4- | sort\n"
    "ls -A / /dev /home/user /tmp\n"
    "cat /proc/self/cgroup | sed 's/snapcell-[^/]*//'\n"
    "cat /proc/self/oom_score_adj\n"
    "cut -d' ' -f19 /proc/self/stat\n" /* nice */
    "hostname\n"
    "cat /proc/net/dev\n"
    "true\n";

void begin_family(struct family *family)
{
    const char *const argv[] = {"python3", "-I", "-c", ZYGOTE, NULL};
    begin_forkable(&family->zygote);
    family->program = (struct operation){0};
    give(&family->zygote, &family->program, &(struct sc_command){.argv = argv, .flags = SC_COMMAND_SOCKET});
    step_until(&family->zygote, &family->program.started);
}

void end_family(struct family *family)
{
    forget(&family->program);
    end_living(&family->zygote);
}

const char *const NAME[] = {"fork", NULL};

void give_script(struct living *cell, struct operation *op, struct family *family, const char *script)
{
    op->input = script;
    op->input_len = strlen(script);
    give_fork(cell, op, &family->program, &(struct sc_command){.argv = NAME, .flags = SC_COMMAND_STDIN});
}

/* To its very end. */
void run_script(struct living *cell, struct operation *op, struct family *family, const char *script)
{
    give_script(cell, op, family, script);
    step_until(cell, &op->is_over);
    if (op->failed)
        fail_msg("stage %s: %s: %s", op->why.stage, op->why.object, strerror(-op->why.code));
}

void begin_pair(struct family *family, struct living *cell)
{
    begin_family(family);
    begin_below(cell, &family->zygote, false);
}

void end_pair(struct family *family, struct living *cell)
{
    end_below(cell);
    end_family(family);
}
