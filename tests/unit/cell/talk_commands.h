/* Commands over a talk with the agent. */
#ifndef TEST_CELL_TALK_COMMANDS_H
#define TEST_CELL_TALK_COMMANDS_H

#include "talk.h"

/* What came of one command. */
struct story {
    char out[4096], err[4096], runner[4096];
    size_t out_len, err_len, runner_len;
    uint64_t total; /* bytes of stdout, whatever was kept */
    int started, exited, gone;
    struct sc_msg_started start;
    struct sc_msg_command_exit exit;
    struct sc_msg_failed failed;
    uint64_t input_credit;
};

/* No flags, all the credit. */
extern const struct sc_msg_command PLENTY;
struct sc_msg_command with(uint32_t flags);

/* COMMAND in one piece; counts and length are filled in. */
void command(struct talk *t, uint16_t channel, struct sc_msg_command head, const char *const *argv,
             const char *const *env, const char *cwd);
/* The same: a script for /bin/sh. */
void shell(struct talk *t, uint16_t channel, struct sc_msg_command head, const char *script);
void signal_on(struct talk *t, uint16_t channel, int number, enum sc_signal_whom whom);

/* Takes one frame into the story of its channel; its type. */
int follow(struct talk *t, struct story *stories);
/* Until a frame of that type has come. */
void until(struct talk *t, struct story *stories, int type);

#endif
