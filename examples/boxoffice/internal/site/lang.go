package site

import (
	"net/http"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/door"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/site/locales"
)

// remember keeps a language that was asked for by ?lang= for a year.
func remember(w http.ResponseWriter, r *http.Request) {
	lang := r.URL.Query().Get("lang")
	if !locales.Known(lang) {
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name:     locales.Cookie,
		Value:    lang,
		Path:     "/",
		MaxAge:   int((365 * 24 * time.Hour).Seconds()),
		SameSite: http.SameSiteLaxMode,
		HttpOnly: true,
		Secure:   door.HTTPS(r),
	})
}
