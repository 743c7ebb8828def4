package routers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/millrace-go/millrace"
)

// Echo is the shop on echo.
func Echo(s Shop) http.Handler {
	e := echo.New()
	e.Any("/api/queue/*", echo.WrapHandler(s.room()))
	e.POST("/orders/:eventId", func(c echo.Context) error {
		var o Ordered
		if err := (&echo.DefaultBinder{}).BindBody(c, &o); err != nil {
			return err // 400
		}
		o.Show = c.Param("eventId") // which the guard has checked, whatever the body says
		if err := s.Order(c.Request().Context(), o); err != nil {
			return echo.NewHTTPError(http.StatusInternalServerError, "the order was not taken").SetInternal(err)
		}
		return c.NoContent(http.StatusCreated)
	}, pathValues("eventId"), echo.WrapMiddleware(s.guard()))
	return millrace.Wrap(e)
}

// pathValues copies echo's parameters to the request, for code such as the guard that
// reads r.PathValue.
func pathValues(parameters ...string) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			for _, name := range parameters {
				c.Request().SetPathValue(name, c.Param(name))
			}
			return next(c)
		}
	}
}
