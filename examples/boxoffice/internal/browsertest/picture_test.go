package browsertest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// wanted reports whether the pictures are asked for. They prove nothing, and take a
// browser longer than all else.
var wanted = os.Getenv("MILLRACE_SCREENSHOTS") != ""

// shot writes a picture of the visible part of the page.
func (tb *tab) shot(name string) {
	tb.Helper()
	if wanted {
		tb.picture(name, false)
	}
}

// sheet writes a picture of the whole page.
func (tb *tab) sheet(name string) {
	tb.Helper()
	if wanted {
		tb.picture(name, true)
	}
}

func (tb *tab) picture(name string, whole bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, patience)
	defer cancel()
	params := page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng}
	if whole {
		beyond := true
		params.CaptureBeyondViewport = &beyond
		params.Clip = &page.Viewport{
			Width:  eval[float64](tb, "document.documentElement.clientWidth"),
			Height: eval[float64](tb, "document.documentElement.scrollHeight"),
			Scale:  1,
		}
	}
	image, err := chromedp.Call(ctx, page.CaptureScreenshot, params)
	if err != nil {
		tb.Logf("no picture of %s: %v", name, err)
		return
	}
	if err := os.WriteFile(filepath.Join(pictures(), name+".png"), image.Data, 0o644); err != nil {
		tb.Logf("no picture of %s: %v", name, err)
	}
}

// pictures is the folder for screenshots.
var pictures = sync.OnceValue(func() string {
	dir := os.Getenv("MILLRACE_SCREENSHOTS")
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "boxoffice-screenshots-"); err != nil {
			return os.TempDir()
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
	}
	return dir
})
