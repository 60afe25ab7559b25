#include "probe/fingerprint.h"
#include "probe/sensors/sensors.h"

const struct sensor *const fingerprint_sensors[] = {
	NULL,
};
