# The page of pure-serve as C: page.html with style.css and script.js put into it.
# usage: cmake -D FOLDER=... -D OUT=... -P console.cmake
file(READ ${FOLDER}/page.html page)
file(READ ${FOLDER}/style.css style)
file(READ ${FOLDER}/script.js script)
string(REPLACE "/* style.css */" "${style}" page "${page}")
string(REPLACE "/* script.js */" "${script}" page "${page}")
file(WRITE ${OUT}.html "${page}")
file(READ ${OUT}.html hex HEX)
string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
file(WRITE ${OUT} "/* Made of host/serve/console. */
#include <stddef.h>
extern const unsigned char serve_console[];
extern const size_t serve_console_length;
const unsigned char serve_console[] = {
${hex}};
const size_t serve_console_length = sizeof serve_console;
")
