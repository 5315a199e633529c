/* Interrupts that reach JavaScript whatever it does, at the price of one small thread. */
#ifndef SNAPCELL_FORK_NODE_WATCH_H
#define SNAPCELL_FORK_NODE_WATCH_H

#include "napi.h"

/* For JavaScript: watch(interrupt). Once in a process, and not before it is forked. */
napi_value snapcell_addon_watch(napi_env env, napi_callback_info info);

#endif
