#include "probe/fingerprint.h"
#include "probe/sensors/sensors.h"

const struct sensor *const fingerprint_sensors[] = {
	&sensor_files,   &sensor_env, &sensor_process, &sensor_descriptors, &sensor_processes,
	&sensor_threads, &sensor_ipc, &sensor_network, &sensor_custom,      NULL,
};
