//go:build !unix

package screen

import "os"

// terminalSize finds no terminal: consoles that may not know control sequences
// get plain lines.
func terminalSize(*os.File) (width, height int) { return 0, 0 }
