package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/chromiumtest"
)

var chromium chromiumtest.Browser

// A buyer with a phone's width is let in, takes a seat and pays with the keyboard alone, is
// told each step, and is told that another card is declined.
func TestBrowser(t *testing.T) {
	browser := chromium.Context(t)
	p := start(t, "")
	tab, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	console := chromiumtest.Listen(tab)
	console.Expect("403") // the line comes first
	defer func() {
		_ = chromedp.Cancel(tab) // a tab that is gone already is as good
		cancel()
		require.Empty(t, console.Complaints())
		p.end()
	}()
	ctx, stop := context.WithTimeout(tab, time.Minute)
	defer stop()
	eval := func(script string) (text string) {
		text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`String(`+script+`)`))
		if err != nil {
			return err.Error() // between two pages
		}
		return text
	}
	shows := func(script, want string) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Contains(eval(script), want) }, time.Minute, 20*time.Millisecond, "%s does not become %q", script, want)
	}
	press := func(keys ...string) {
		for _, key := range keys {
			require.NoError(t, chromedp.Do(ctx, chromedp.KeyEvent(key)))
		}
	}
	_, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 360, Height: 740, DeviceScaleFactor: 1, Mobile: true})
	require.NoError(t, err)
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(p.address)))
	shows(`document.querySelector("#seat-A1")?.textContent`, "free")
	press("\t", "\r")
	shows(`document.querySelector("#said").textContent`, "Seat A1 is kept for you.")
	shows(`document.querySelector("#seat-A1").textContent`, "kept")
	shows(`document.activeElement.id`, "card")
	require.Equal(t, "true", eval(`document.documentElement.scrollWidth <= innerWidth`), "something is cut off")
	picture(t, ctx, "held")
	press("\t", "\r")
	shows(`document.querySelector("#said").textContent`, "Seat A1 is yours.")
	shows(`document.querySelector("#seat-A1").textContent`, "yours")
	shows(`document.activeElement.id`, "said")
	picture(t, ctx, "sold")

	eval(`document.querySelector("#seat-A2").focus()`)
	press("\r")
	shows(`document.activeElement.id`, "card")
	eval(`document.querySelector("#card").value = "declined"`)
	press("\t", "\r")
	shows(`document.querySelector("#said").textContent`, "The card was declined.")
	shows(`document.querySelector("#seat-A2").textContent`, "free")
}

// picture keeps a screenshot in the folder $MILLRACE_SCREENSHOTS.
func picture(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	folder := os.Getenv("MILLRACE_SCREENSHOTS")
	if folder == "" {
		return
	}
	image, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(folder, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "tickets-"+name+".png"), image, 0o644))
}
