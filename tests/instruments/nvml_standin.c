/* A stand-in for libnvidia-ml.so.1 with the C interface that the sampler calls.
 *
 * STANDIN_NVML says what it plays: "two" GPUs, "none", "no_driver", or "lost" (the second GPU of
 * two falls off the bus after its third utilisation reading). The second GPU never tells its
 * power draw: a call not supported.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, NOT_SUPPORTED = 3, DRIVER_NOT_LOADED = 9, GPU_IS_LOST = 15 };

typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned int gpu, memory; } rates_t;

static int second_readings = 0;

static int plays(const char *role) {
    const char *wanted = getenv("STANDIN_NVML");
    return wanted != NULL && strcmp(wanted, role) == 0;
}

int nvmlInitWithFlags(unsigned int flags) {
    (void)flags;
    return plays("no_driver") ? DRIVER_NOT_LOADED : OK;
}
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) {
    return code == GPU_IS_LOST ? "GPU is lost" : code == NOT_SUPPORTED ? "Not Supported" : "Driver Not Loaded";
}
int nvmlDeviceGetCount_v2(unsigned int *count) {
    *count = plays("none") ? 0 : 2;
    return OK;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **handle) {
    *handle = (void *)(size_t)(index + 1);
    return OK;
}
int nvmlDeviceGetName(void *handle, char *name, unsigned int length) {
    snprintf(name, length, "Stand-in %zu", (size_t)handle - 1);
    return OK;
}
int nvmlDeviceGetUtilizationRates(void *handle, rates_t *rates) {
    rates->gpu = (size_t)handle == 1 ? 80 : 0;
    rates->memory = 10;
    if ((size_t)handle == 2 && plays("lost") && ++second_readings > 3) return GPU_IS_LOST;
    return OK;
}
int nvmlDeviceGetMemoryInfo(void *handle, memory_t *memory) {
    (void)handle;
    memory->total = 16ULL << 30;
    memory->used = 4ULL << 30;
    memory->free = memory->total - memory->used;
    return OK;
}
int nvmlDeviceGetPcieThroughput(void *handle, int counter, unsigned int *kib_per_s) {
    (void)handle;
    *kib_per_s = counter == 1 ? 2048 : 1024; /* 0 is sent (TX), 1 received (RX) */
    return OK;
}
int nvmlDeviceGetPowerUsage(void *handle, unsigned int *milliwatts) {
    *milliwatts = 150000;
    return (size_t)handle == 1 ? OK : NOT_SUPPORTED;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void *handle, unsigned long long *reasons) {
    *reasons = (size_t)handle == 1 ? 0x4ULL : 0x1ULL; /* power cap; idle, which is none */
    return OK;
}
