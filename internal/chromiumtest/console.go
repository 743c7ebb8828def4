package chromiumtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/chromedp/chromedp"
)

// Console collects the complaints of a tab: exceptions and errors. A browser also reports a
// refused connection, a 4xx answer and violations of the content security policy in this way.
type Console struct {
	closed sync.WaitGroup // the reader has returned

	mu         sync.Mutex
	complaints []string
	expected   []string
}

// Listen reads the console of the tab of a chromedp context, until the context ends.
func Listen(tab context.Context) *Console {
	c := new(Console)
	console := chromedp.Console(tab)
	c.closed.Go(func() {
		for message, err := range console {
			if err != nil {
				return // the tab is closed
			}
			c.hear(message)
		}
	})
	return c
}

// Expect sets parts of complaints that belong to the test. Call it before their cause: a
// complaint may arrive later than every other sign of its cause.
func (c *Console) Expect(parts ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expected = append(c.expected, parts...)
}

// Complaints waits until the tab is closed, and returns its unexpected complaints.
func (c *Console) Complaints() []string {
	c.closed.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.complaints)
}

func (c *Console) hear(m chromedp.ConsoleMessage) {
	if m.Type != chromedp.ConsoleError && m.Type != chromedp.ConsoleException {
		return
	}
	complaint := fmt.Sprintf("%s (%s)", m.Text, m.URL)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.ContainsFunc(c.expected, func(part string) bool { return strings.Contains(complaint, part) }) {
		c.complaints = append(c.complaints, complaint)
	}
}
