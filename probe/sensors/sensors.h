#pragma once
/*
 * sensors: the rows of the table that a fingerprint walks by default. One
 * file, one row, one domain; table.c names them in the order in which they look.
 */
#include "probe/sensor.h"

extern const struct sensor sensor_files;
extern const struct sensor sensor_env;
extern const struct sensor sensor_process;
extern const struct sensor sensor_descriptors;
extern const struct sensor sensor_processes;
extern const struct sensor sensor_threads;
extern const struct sensor sensor_ipc;
extern const struct sensor sensor_network;
extern const struct sensor sensor_custom;
