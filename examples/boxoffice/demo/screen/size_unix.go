//go:build unix

package screen

import (
	"os"

	"golang.org/x/sys/unix"
)

// terminalSize returns zeros for a file that is no terminal.
func terminalSize(f *os.File) (width, height int) {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	if size.Col == 0 { // some consoles do not say
		return 80, 24
	}
	return int(size.Col), int(size.Row)
}
