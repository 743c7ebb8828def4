package queuepage_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

var errNoBrowser = errors.New("no browser: set CHROMIUM, or put chromium, chromium-browser, google-chrome or chrome in PATH")

func findBrowser() (string, error) {
	if path := os.Getenv("CHROMIUM"); path != "" {
		found, err := exec.LookPath(path)
		if err != nil {
			return "", fmt.Errorf("CHROMIUM: %w", err)
		}
		return found, nil
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errNoBrowser
}

// chromium is the one browser process of all tests; each tab has a profile of its
// own inside it.
var chromium struct {
	once sync.Once
	ctx  context.Context
	err  error
	stop func()
}

func browser(t *testing.T) context.Context {
	t.Helper()
	path, err := findBrowser()
	if err != nil {
		if os.Getenv("MILLRACE_REQUIRE_BROWSER") == "1" || !errors.Is(err, errNoBrowser) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	chromium.once.Do(func() {
		allocator, release := chromedp.NewExecAllocator(context.Background(),
			chromedp.ExecPath(path), chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
			chromedp.Flag("disable-background-networking", true),
			chromedp.Flag("disable-component-update", true),
			chromedp.Flag("disable-sync", true),
			chromedp.Flag("disable-background-timer-throttling", true),
			chromedp.Flag("disable-renderer-backgrounding", true),
			chromedp.Flag("disable-backgrounding-occluded-windows", true),
			chromedp.Flag("disable-dev-shm-usage", true),
			chromedp.Flag("lang", "en-US"),
			chromedp.Flag("force-color-profile", "srgb"))
		ctx, cancel := chromedp.NewContext(allocator)
		chromium.ctx, chromium.err = ctx, chromedp.Do(ctx)
		chromium.stop = func() {
			_ = chromedp.Cancel(ctx) // it is ended for good by the next two
			cancel()
			release()
		}
	})
	if chromium.err != nil {
		t.Fatalf("start %s: %v", path, chromium.err)
	}
	return chromium.ctx
}
