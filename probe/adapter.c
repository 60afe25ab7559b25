#include "probe/adapter.h"

#include "sandbox/base/text.h"

const struct adapter *const adapters[] = { NULL };

const struct adapter *adapter_find(const char *name)
{
	for (size_t i = 0; adapters[i]; i++)
		if (text_eq(adapters[i]->name, name))
			return adapters[i];
	return NULL;
}
