/* A command whose process is not the agent's child: a program of a cell above was forked into this one, by
 * orders of the supervisor (fork_order.h). The agent makes its streams and lends out where it is to live;
 * then it watches the process by a pidfd. How it ended the supervisor learns from the cell above, whose
 * shepherd waits for it.
 *
 * There is one at a time. What descends from it has no shepherd: its orphans come to the agent itself. So its
 * tree is everything in the cell but the agent, the agent's own helpers, and what is below those. */
#ifndef SC_AGENT_ADOPTED_H
#define SC_AGENT_ADOPTED_H

#include "agent/commands.h"

/* ADOPT is whole: streams, and ADOPTING. What fails is owed as COMMAND_FAILED. */
void sc_adopted_begin(struct sc_commands *commands, struct sc_command *command);
/* ADOPTED: the process is there, or will not come. */
void sc_adopted_take(struct sc_commands *commands, struct sc_command *command, pid_t pid);
/* Its pidfd is readable. */
void sc_adopted_ended(struct sc_commands *commands, struct sc_command *command);
/* What is due: signals that are wanted, and whether its tree is gone. */
void sc_adopted_settle(struct sc_commands *commands, struct sc_command *command, uint64_t now);

#endif
