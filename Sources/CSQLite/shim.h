#include <sqlite3.h>

/* Leaves the log as it is when the connection is closed. Swift cannot call functions with variable arguments. */
static inline int csqlite_keep_log_on_close(sqlite3 *database) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}
