#include "probe/delta.h"
