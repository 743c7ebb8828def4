package queuepagetest

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/queue/queuepage"
)

// TestBrowserLanguages uses the language of the browser, of the visitor's choice,
// or of the address, with numbers and words of that language.
func TestBrowserLanguages(t *testing.T) {
	f := start(t, queuepage.Config{}, queuepage.Config{})
	f.is("check", queued(12345))
	tb := open(t, f.URL, device{width: 390, height: 844, lang: "ko-KR,en"})
	tb.visit("/queue/e")
	tb.says("title", "줄을 서 있어요")
	for id, want := range map[string]string{"position": "12,345", "wait": "약 15~30분", "leave": "줄에서 나가기", "lang": "English"} {
		if got := tb.text(id); got != want {
			t.Errorf("#%s is %q, want %q", id, got, want)
		}
	}
	if title := eval[string](tb, "document.documentElement.lang + ' ' + document.title"); title != "ko 12,345 · 줄을 서 있어요 · Waiting room" {
		t.Errorf("language and title are %q", title)
	}
	if said := tb.said(); len(said) != 1 || said[0] != "줄을 서 있어요. 앞에 12,344명 있어요. 약 15~30분" {
		t.Errorf("announced %q", said)
	}
	polls := len(f.heard("check"))
	tb.focus("lang")
	tb.press("\r")
	tb.says("title", "You are in line")
	if got := eval[string](tb, "document.documentElement.lang + document.getElementById('lang').lang + document.getElementById('bar').getAttribute('aria-label')"); got != "enkoYour way to the front" {
		t.Errorf("after the switch: %q", got)
	}
	assert.Len(t, f.heard("check"), polls, "another language is no reason to ask again")
	tb.reload()
	tb.says("title", "You are in line")
	tb.visit("/queue/e?lang=ko")
	tb.says("title", "줄을 서 있어요")
	tb.visit("/queue/e?lang=__proto__")
	tb.says("title", "줄을 서 있어요")

	plain := open(t, f.URL, device{width: 390, height: 844, lang: "fr-FR,de"})
	f.is("check", queued(2))
	plain.visit("/queue/e")
	plain.says("title", "You are in line")
	if said := plain.said(); len(said) != 1 || said[0] != "You are in line. 1 person is ahead of you. under a minute" {
		t.Errorf("announced %q", said)
	}
}

// TestBrowserWithoutScript says in both languages that scripts are needed.
func TestBrowserWithoutScript(t *testing.T) {
	f := start(t, queuepage.Config{}, queuepage.Config{})
	tb := open(t, f.URL, phone())
	set(tb, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	tb.visit("/queue/e")
	text := eval[string](tb, "document.body.innerText")
	if !strings.Contains(text, "needs JavaScript") || !strings.Contains(text, "자바스크립트가 필요합니다") || strings.Contains(text, "Leave the line") {
		t.Errorf("without scripts the page says %q", text)
	}
	assert.Equal(t, "enko", eval[string](tb, "document.documentElement.lang + document.querySelector('noscript p[lang]').lang"), "its languages")
	tb.shot("noscript")
}

// TestBrowserPolicy makes the browser refuse content that is not the page's own.
func TestBrowserPolicy(t *testing.T) {
	f := start(t, queuepage.Config{}, queuepage.Config{})
	f.is("check", queued(2))
	tb := open(t, f.URL, phone())
	tb.visit("/queue/e")
	tb.in("waiting")
	tb.Expect("Content Security Policy", "TrustedScript")
	eval[bool](tb, `(globalThis.refused = [], addEventListener("securitypolicyviolation", (e) => refused.push(e.effectiveDirective)), true)`)
	eval[bool](tb, `(() => {
		const script = document.createElement("script");
		try { script.textContent = "globalThis.ran = true"; } catch { refused.push("trusted types"); }
		const image = document.createElement("img");
		image.src = "/picture.png";
		const style = document.createElement("style");
		style.textContent = "body { color: red }";
		document.body.append(script, image, style);
		fetch("https://elsewhere.example/").catch(() => {});
		return true;
	})()`)
	tb.until(`["img-src", "style-src-elem", "connect-src", "trusted types"].every((what) => refused.includes(what)) && globalThis.ran === undefined`)
}

// TestBrowserEventNames puts an event's name into addresses and nothing else.
func TestBrowserEventNames(t *testing.T) {
	f := start(t, queuepage.Config{}, queuepage.Config{})
	f.is("check", queued(2))
	tb := open(t, f.URL, phone())
	for path, want := range map[string]string{
		"/queue/%3Cimg%20src=x%20onerror=alert(1)%3E": "check <img src=x onerror=alert(1)>",
		"/queue/%22%3E%3Cscript%3Ealert(1)":           `check "><script>alert(1)`,
		"/queue/$%26":                                 "check $&",
		"/queue/%EA%B3%B5%EC%97%B0?x":                 "check 공연",
		"/queue/%7BrequestId%7D%3Fa=b%23c":            "check {requestId}?a=b#c",
		"/queue/%252e%252e":                           "check %2e%2e",
	} {
		tb.visit(path)
		tb.says("position", "2")
		tb.until("clock.idle()")
		if heard := f.heard("check"); heard[len(heard)-1] != want {
			t.Errorf("%s: asked %q, want %q", path, heard[len(heard)-1], want)
		}
		if n := eval[int](tb, "document.querySelectorAll('img, script').length"); n != 2 {
			t.Errorf("%s: %d images and scripts, want the page's own two", path, n)
		}
	}
}
