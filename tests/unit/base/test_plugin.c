/* A plug-in of whatever version it is built with. */
const char* gsd_plugin_version(void) { return GSD_VERSION; }
int answer(void) { return 42; }
