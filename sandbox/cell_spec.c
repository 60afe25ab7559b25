#include "sandbox/cell_spec.h"
