package api

import (
	"context"
	"database/sql"
	"net/http"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/auth"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

// loginRoutes sign members in.
type loginRoutes struct {
	store *store.Store
	login *auth.Login
}

func (l loginRoutes) mount(g *guard) { g.public("POST /api/login", g.bounded(l.signIn)) }

// signIn signs a member in; there are no passwords, since nothing here is real.
func (l loginRoutes) signIn(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		MemberID string `json:"memberId"`
	}
	if err := decode(w, r, &body); err != nil {
		return err
	}
	if body.MemberID == "" {
		return invalid("memberId", `the field "memberId" is missing`)
	}
	if err := auth.CheckMember(body.MemberID); err != nil {
		return invalid("memberId", "%v", err)
	}
	if err := l.knowMember(r.Context(), body.MemberID); err != nil {
		return err
	}
	token, expires, err := l.login.Issue(body.MemberID)
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, struct {
		Token     string    `json:"token"`
		ExpiresAt time.Time `json:"expiresAt"`
	}{token, expires})
	return nil
}

// knowMember remembers a member at the first sign-in.
func (l loginRoutes) knowMember(ctx context.Context, id string) error {
	known, err := l.store.KnowsMember(ctx, id)
	if err != nil || known {
		return err
	}
	return l.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error { return l.store.AddMember(ctx, tx, id) })
}
