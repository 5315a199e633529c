/* The program without TLS, for cells whose rules do not need it. */
#include "net/tls.h"

const struct sc_tls_calls *const sc_net_tls = NULL;
