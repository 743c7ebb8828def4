package routers

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/millrace-go/millrace"
)

// Gin is the shop on gin.
func Gin(s Shop) http.Handler {
	r := gin.New()
	r.Any("/api/queue/*rest", gin.WrapH(s.room()))
	r.POST("/orders/:eventId", ginMiddleware(s.guard(), "eventId"), func(c *gin.Context) {
		var o Ordered
		if err := c.ShouldBindJSON(&o); err != nil {
			c.String(http.StatusBadRequest, "%v", err)
			return
		}
		o.Show = c.Param("eventId") // which the guard has checked, whatever the body says
		if err := s.Order(c.Request.Context(), o); err != nil {
			c.String(http.StatusInternalServerError, "the order was not taken")
			return
		}
		c.Status(http.StatusCreated)
	})
	return millrace.Wrap(r)
}

// ginMiddleware makes a middleware of gin from one of net/http, which finds gin's
// parameters as the path's values.
func ginMiddleware(wrap func(http.Handler) http.Handler, parameters ...string) gin.HandlerFunc {
	return func(c *gin.Context) {
		for _, name := range parameters {
			c.Request.SetPathValue(name, c.Param(name))
		}
		passed := false
		wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			passed, c.Request = true, r
			c.Next()
		})).ServeHTTP(c.Writer, c.Request)
		if !passed {
			c.Abort()
		}
	}
}
