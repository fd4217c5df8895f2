package bench

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"rollcall/shared/kube"
)

const (
	// instancesPerPage is the maximum page size of DescribeInstances.
	instancesPerPage = 1000
	// mostNodes bounds the clusters of the server, which keeps them in memory.
	mostNodes = 200_000

	contentXML      = "text/xml;charset=UTF-8"
	contentJSON     = "application/json"
	contentProtobuf = "application/vnd.kubernetes.protobuf"
)

// server answers as EC2, EKS and a Kubernetes API server would for clusters without
// faults. The first element of the path is the number of nodes and their trouble:
// http://127.0.0.1:1234/1000-none is the AWS endpoint of a cluster with 1,000 in order.
//
// It refuses all other requests with 400, which no client retries.
type server struct {
	kube string // URL of the Kubernetes API, without the number of nodes
	ca   []byte

	mu       sync.Mutex
	clusters map[string]func() (answers, error)
}

// answers are the compressed pages of one cluster: serving one costs a copy, and 100,000
// nodes fit into memory.
type answers struct {
	instances [][]byte
	tags      [][]byte
	nodes     [][]byte
	workers   map[string]worker // by instance id
}

// serve runs the server until stdin ends. It does not shut down gracefully: that would
// wait for clients that are gone.
func serve(stdin io.Reader, stdout io.Writer) error {
	s := &server{clusters: map[string]func() (answers, error){}}
	aws := httptest.NewServer(s.awsHandler())
	// API servers use TLS and HTTP/2.
	api := httptest.NewUnstartedServer(s.kubeHandler())
	api.EnableHTTP2 = true
	api.StartTLS()
	s.kube = api.URL
	s.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw})
	if err := json.NewEncoder(stdout).Encode(addresses{AWS: aws.URL, Kube: s.kube, CA: s.ca}); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, stdin)
	return err
}

func (s *server) awsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{nodes}/prepare", func(w http.ResponseWriter, r *http.Request) {
		if _, ok := s.answers(w, r); ok {
			w.WriteHeader(http.StatusNoContent)
		}
	})
	mux.HandleFunc("POST /{nodes}", s.describeInstances) // and their status
	mux.HandleFunc("GET /{nodes}/clusters/"+clusterName, s.describeCluster)
	mux.HandleFunc("GET /{nodes}/clusters/"+clusterName+"/node-groups", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"nodegroups":[]}`))
	})
	mux.HandleFunc("/", refuse)
	return mux
}

func (s *server) kubeHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{nodes}/api/v1/nodes", s.listNodes)
	for path, kind := range map[string][2]string{
		"/api/v1/namespaces/default/events": {"v1", "EventList"}, "/apis/karpenter.sh/v1/nodeclaims": {"karpenter.sh/v1", "NodeClaimList"}, "/apis/karpenter.sh/v1/nodepools": {"karpenter.sh/v1", "NodePoolList"},
	} {
		mux.HandleFunc("GET /{nodes}"+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"apiVersion":%q,"kind":%q,"metadata":{"resourceVersion":"1"},"items":[]}`, kind[0], kind[1])
		})
	}
	mux.HandleFunc("/", refuse)
	return mux
}

func refuse(w http.ResponseWriter, r *http.Request) {
	http.Error(w, "not served here: "+r.Method+" "+r.URL.Path, http.StatusBadRequest)
}

// answers returns the pages of the cluster in the request, and creates them for the first
// request. On failure it has answered the request.
func (s *server) answers(w http.ResponseWriter, r *http.Request) (answers, bool) {
	name := r.PathValue("nodes")
	number, suffix, _ := strings.Cut(name, "-")
	nodes, err := strconv.Atoi(number)
	if t := trouble(suffix); err != nil || nodes < 1 || nodes > mostNodes || t != noTrouble && t != someTrouble && t != zoneTrouble {
		refuse(w, r)
		return answers{}, false
	}
	s.mu.Lock()
	known, ok := s.clusters[name]
	if !ok {
		known = sync.OnceValues(func() (answers, error) { return makeAnswers(nodes, trouble(suffix)) })
		s.clusters[name] = known
	}
	s.mu.Unlock()
	a, err := known()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return answers{}, false
	}
	return a, true
}

// makeAnswers creates all pages of a cluster. The token of a page is its index.
func makeAnswers(nodes int, t trouble) (answers, error) {
	instances, members := pages(nodes, instancesPerPage), pages(nodes, kube.PageSize)
	out := answers{instances: make([][]byte, len(instances)), tags: make([][]byte, len(instances)), nodes: make([][]byte, len(members)), workers: make(map[string]worker, nodes)}
	next := func(page, pages int) string {
		if page+1 == pages {
			return ""
		}
		return strconv.Itoa(page + 1)
	}
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0)) // bounds the uncompressed pages
	for i, workers := range instances {
		for _, w := range workers {
			out.workers[w.instanceID()] = w
		}
		group.Go(func() (err error) {
			if out.tags[i], err = compress(tagPage(workers, next(i, len(instances)))); err != nil {
				return err
			}
			out.instances[i], err = compress(instancePage(workers, next(i, len(instances))))
			return err
		})
	}
	for i, workers := range members {
		group.Go(func() error {
			page, err := encodeNodes(nodePage(workers, next(i, len(members)), nodes-(i+1)*kube.PageSize, t))
			if err != nil {
				return err
			}
			out.nodes[i], err = compress(page)
			return err
		})
	}
	return out, group.Wait()
}

var scheme = func() *kruntime.Scheme {
	s := kruntime.NewScheme()
	if err := corev1.AddToScheme(s); err != nil {
		panic(err) // the types are compiled in
	}
	return s
}()

func encodeNodes(list *corev1.NodeList) ([]byte, error) {
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
	var out bytes.Buffer
	err := protobuf.NewSerializer(scheme, scheme).Encode(list, &out)
	return out.Bytes(), err
}

// compress uses the fastest level, as API servers do.
func compress(page []byte) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(page); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// send answers with a compressed page, or an uncompressed one if the client asks for
// that.
func send(w http.ResponseWriter, r *http.Request, contentType string, page []byte) {
	w.Header().Set("Content-Type", contentType)
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(page) // a client that went away needs no answer
		return
	}
	z, err := gzip.NewReader(bytes.NewReader(page))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = io.Copy(w, z)
}

// pageOf returns the page of a token; "" is the first page.
func pageOf(pages [][]byte, token string) ([]byte, bool) {
	i := 0
	if token != "" {
		var err error
		if i, err = strconv.Atoi(token); err != nil {
			return nil, false
		}
	}
	if i < 0 || i >= len(pages) {
		return nil, false
	}
	return pages[i], true
}

// healthy says that no instance has a status problem: only the listings of instances and
// nodes are measured.
const healthy = `<?xml version="1.0" encoding="UTF-8"?>
<DescribeInstanceStatusResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>00000000-0000-4000-a000-000000000000</requestId><instanceStatusSet/></DescribeInstanceStatusResponse>
`

func (s *server) describeInstances(w http.ResponseWriter, r *http.Request) {
	a, ok := s.answers(w, r)
	if !ok {
		return
	}
	if r.FormValue("Action") == "DescribeInstanceStatus" && r.FormValue("InstanceId.1") == "" {
		w.Header().Set("Content-Type", contentXML)
		_, _ = io.WriteString(w, healthy) // a client that went away needs no answer
		return
	}
	if r.FormValue("Action") == "DescribeTags" {
		page, ok := pageOf(a.tags, r.FormValue("NextToken"))
		asked := r.FormValue("Filter.1.Value.1") == "instance" && r.FormValue("Filter.2.Value.1") == "kubernetes.io/cluster/"+clusterName && r.FormValue("MaxResults") == strconv.Itoa(instancesPerPage)
		if !ok || !asked {
			refuse(w, r)
			return
		}
		send(w, r, contentXML, page)
		return
	}
	if ids := lookedUp(r); r.FormValue("Action") == "DescribeInstances" && len(ids) > 0 {
		var found []worker
		for _, id := range ids {
			one, ok := a.workers[id]
			if !ok {
				refuse(w, r)
				return
			}
			found = append(found, one)
		}
		page, err := compress(instancePage(found, ""))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		send(w, r, contentXML, page)
		return
	}
	listing := r.FormValue("Action") == "DescribeInstances" &&
		r.FormValue("Filter.1.Name") == "tag-key" && r.FormValue("Filter.1.Value.1") == "kubernetes.io/cluster/"+clusterName &&
		r.FormValue("MaxResults") == strconv.Itoa(instancesPerPage)
	page, ok := pageOf(a.instances, r.FormValue("NextToken"))
	if !listing || !ok {
		refuse(w, r)
		return
	}
	send(w, r, contentXML, page)
}

// lookedUp returns the ids of a request for instances by id.
func lookedUp(r *http.Request) (ids []string) {
	for n := 1; ; n++ {
		id := r.FormValue("InstanceId." + strconv.Itoa(n))
		if id == "" {
			return ids
		}
		ids = append(ids, id)
	}
}

func (s *server) listNodes(w http.ResponseWriter, r *http.Request) {
	a, ok := s.answers(w, r)
	if !ok {
		return
	}
	listing := r.FormValue("limit") == strconv.Itoa(kube.PageSize) && strings.HasPrefix(r.Header.Get("Accept"), contentProtobuf)
	page, ok := pageOf(a.nodes, r.FormValue("continue"))
	if !listing || !ok {
		refuse(w, r)
		return
	}
	send(w, r, contentProtobuf, page)
}

func (s *server) describeCluster(w http.ResponseWriter, r *http.Request) {
	type object = map[string]any
	w.Header().Set("Content-Type", contentJSON)
	_ = json.NewEncoder(w).Encode(object{"cluster": object{
		"name": clusterName, "arn": fmt.Sprintf("arn:aws:eks:%s:%s:cluster/%s", region, account, clusterName),
		"status": "ACTIVE", "version": "1.36", "endpoint": s.kube + "/" + r.PathValue("nodes"),
		"certificateAuthority": object{"data": base64.StdEncoding.EncodeToString(s.ca)},
		"resourcesVpcConfig":   object{"vpcId": "vpc-0d41e6b7a9305c28f"},
		"accessConfig":         object{"authenticationMode": "API"},
	}})
}
