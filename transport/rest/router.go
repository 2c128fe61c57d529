package rest

import (
	"bytes"
	"fmt"
	"strings"
)

// pathParamsMax is the most {parameters} in a route's pattern.
const pathParamsMax = 2

// The methods a route may have, as indexes. HEAD is GET without the body, OPTIONS is answered by the server.
const (
	methodGet = iota
	methodPost
	methodPut
	methodDelete
	methodsEnd
	methodHead    = methodGet
	methodUnknown = -1
)

var methodNames = [methodsEnd]string{"GET", "POST", "PUT", "DELETE"}

func methodIndex(method []byte) int {
	switch string(method) {
	case "GET":
		return methodGet
	case "POST":
		return methodPost
	case "PUT":
		return methodPut
	case "DELETE":
		return methodDelete
	case "HEAD":
		return methodHead
	}
	return methodUnknown
}

// router finds a path's routes by walking its segments. Finding allocates nothing. It works on the path as it was
// sent: an id may be ".." or "%7E", which a normalised path would have lost.
type router struct{ root routeNode }

type routeNode struct {
	static map[string]*routeNode
	param  *routeNode
	routes [methodsEnd]*Route
	allow  string // the Allow header; "" when the node has no route
}

// newRouter builds the router. A pattern is segments, each a literal or a {name}.
func newRouter(routes []Route) (*router, error) {
	r := &router{}
	for i := range routes {
		if err := r.add(&routes[i]); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *router) add(route *Route) error {
	method := methodIndex([]byte(route.Method))
	if method == methodUnknown || route.Method == "HEAD" {
		return fmt.Errorf("route %s: method %s is not routed", route.Name, route.Method)
	}
	node, params := &r.root, 0
	for _, segment := range strings.Split(strings.TrimPrefix(route.Pattern, "/"), "/") {
		if strings.HasPrefix(segment, "{") {
			if params++; params > pathParamsMax {
				return fmt.Errorf("route %s: more than %d parameters", route.Name, pathParamsMax)
			}
			if node.param == nil {
				node.param = &routeNode{}
			}
			node = node.param
			continue
		}
		if node.static == nil {
			node.static = make(map[string]*routeNode)
		}
		child := node.static[segment]
		if child == nil {
			child = &routeNode{}
			node.static[segment] = child
		}
		node = child
	}
	if node.routes[method] != nil {
		return fmt.Errorf("route %s: %s %s is already %s", route.Name, route.Method, route.Pattern, node.routes[method].Name)
	}
	node.routes[method] = route
	node.allow = allowOf(node)
	return nil
}

func allowOf(node *routeNode) string {
	var methods []string
	for i, route := range node.routes {
		if route == nil {
			continue
		}
		methods = append(methods, methodNames[i])
		if i == methodGet {
			methods = append(methods, "HEAD")
		}
	}
	return strings.Join(append(methods, "OPTIONS"), ", ")
}

// find walks a path and gives its node, or nil. Parameters are the path's own bytes.
func (r *router) find(path []byte, params *[pathParamsMax][]byte) *routeNode {
	if len(path) == 0 || path[0] != '/' {
		return nil
	}
	node, count := &r.root, 0
	for rest := path[1:]; ; {
		segment, tail, more := bytes.Cut(rest, []byte("/"))
		if child := node.static[string(segment)]; child != nil {
			node = child
		} else if node.param != nil && len(segment) > 0 {
			params[count] = segment
			count++
			node = node.param
		} else {
			return nil
		}
		if !more {
			break
		}
		rest = tail
	}
	if node.allow == "" {
		return nil
	}
	return node
}
