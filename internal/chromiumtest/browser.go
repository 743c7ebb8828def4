// Package chromiumtest starts the Chromium for browser tests, and collects the errors of its
// tabs.
package chromiumtest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/millrace-go/millrace/internal/programtest"
)

// Browser is the one Chromium process of a package's tests. The zero value is ready: the first
// test that needs it starts it.
type Browser struct {
	once sync.Once
	ctx  context.Context
	err  error
	stop func()
}

// Context returns chromedp's context of the process; give each test a browser context of its own
// in it. Without a browser the test is skipped, or fails where MILLRACE_REQUIRE_BROWSER is 1.
func (b *Browser) Context(t testing.TB) context.Context {
	t.Helper()
	path := programtest.Chromium(t)
	b.once.Do(func() { b.start(path) })
	if b.err != nil {
		t.Fatalf("start %s: %v", path, b.err)
	}
	return b.ctx
}

// Close ends the process, and reports whether there was one. It is for TestMain.
func (b *Browser) Close() bool {
	if b.stop == nil {
		return false
	}
	b.stop()
	return true
}

func (b *Browser) start(path string) {
	allocator, release := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(path), chromedp.WSURLReadTimeout(2*time.Minute), chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
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
	b.ctx, b.err = ctx, chromedp.Do(ctx)
	b.stop = func() {
		_ = chromedp.Cancel(ctx) // the next two end it in any case
		cancel()
		release()
	}
}
