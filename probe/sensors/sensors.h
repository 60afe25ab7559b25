#pragma once
/*
 * sensors: the rows of the table that a fingerprint walks by default. One
 * file, one row, one domain; table.c names them in the order of DESIGN.md 6.
 */
#include "probe/sensor.h"
