/* What every part of the agent does the same way: ending the cell, saying why, and being the program for a
 * moment. */
#include "agent/agent.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/frame.h"

void sc_agent_describe(struct sc_msg_failed *failed, const char *stage, const char *object, int code)
{
    memset(failed, 0, sizeof *failed);
    failed->code = code;
    strncpy(failed->stage, stage, sizeof failed->stage - 1);
    strncpy(failed->object, object ? object : "", sizeof failed->object - 1);
}

void sc_agent_fail(int control, const char *stage, const char *object, int code)
{
    struct sc_msg_failed failed;
    sc_agent_describe(&failed, stage, object, code);
    sc_frame_send(control, SC_MSG_FAILED, 0, &failed, sizeof failed);
    sc_agent_end();
}

void sc_agent_be_program(const struct sc_agent *agent)
{
    setfsgid(agent->image->program_uid);
    setfsuid(agent->image->program_uid);
}

/* Writing files took the program's file-system id, and a program's start shared our memory while it changed
 * its ids. Each sets dumpable to what fs.suid_dumpable says. */
void sc_agent_be_sealed(const struct sc_agent *agent)
{
    setfsgid(agent->image->agent_uid);
    setfsuid(agent->image->agent_uid);
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        sc_agent_fail(agent->control, "sealed", "after a change of ids", -errno);
}

/* Everybody else first: what covers /proc may not outlive us by much (enter_vacant.c). */
void sc_agent_end(void)
{
    if (getpid() != 1) /* a test's: anywhere else that is everybody */
        _exit(0);
    kill(-1, SIGKILL);
    while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR)
        ;
    _exit(0);
}
