/*
 * zbar can announce each decoded code on the D-Bus system bus, where other processes listen. A code may hold a secret,
 * so zbar must not announce it. These functions replace the libdbus functions that zbar references. zbar calls them
 * only when announcing is enabled, which this code never does. A program linked with zbar's archive therefore needs no
 * libdbus, and does not load libsystemd and similar libraries at each start.
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
