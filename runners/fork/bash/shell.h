/* What a builtin that is loaded says of itself to bash, and is given by it. The form has been the same since
 * bash 2, so that no headers of one version are needed. */
#ifndef SNAPCELL_FORK_BASH_SHELL_H
#define SNAPCELL_FORK_BASH_SHELL_H

struct word_desc {
    char *word;
    int flags;
};

struct word_list {
    struct word_list *next;
    struct word_desc *word;
};

#define BUILTIN_ENABLED 1

struct builtin {
    const char *name;
    int (*function)(struct word_list *words);
    int flags;
    const char *const *long_doc;
    const char *short_doc;
    char *handle;
};

/* Of the builtin: what bash looks up by its name. */
extern struct builtin snapcell_fork_struct;

#endif
