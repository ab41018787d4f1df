/*
 * zbar can announce every code that it reads on the D-Bus system bus, where others listen. A code may
 * hold a secret, so this must not happen. These stand in for the functions of libdbus that zbar names;
 * zbar calls them only when it is asked to announce, which nothing here does. A program linked with
 * zbar's archive needs no libdbus for it, and so does not load libsystemd and its like at every start.
 */
#include <stdlib.h>

#define NEVER(name) \
    void name(void); \
    void name(void) { abort(); }

NEVER(dbus_bus_get)
NEVER(dbus_bus_release_name)
NEVER(dbus_bus_request_name)
NEVER(dbus_connection_flush)
NEVER(dbus_connection_send)
NEVER(dbus_error_free)
NEVER(dbus_error_init)
NEVER(dbus_error_is_set)
NEVER(dbus_message_iter_append_basic)
NEVER(dbus_message_iter_append_fixed_array)
NEVER(dbus_message_iter_close_container)
NEVER(dbus_message_iter_init_append)
NEVER(dbus_message_iter_open_container)
NEVER(dbus_message_new_signal)
NEVER(dbus_message_unref)
