package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/spf13/cobra"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/report"
	"rollcall/shared/roll"
)

type reportFlags struct {
	access
	profiles           []string
	from, policy, html string
	output             form
}

func reportCommand(env Environment) *cobra.Command {
	var f reportFlags
	c := &cobra.Command{
		Use:   "report",
		Short: "Report on the clusters of several accounts at once",
		Long: `Checks the clusters of several AWS profiles, or reads results that rollcall check --output json
printed earlier, and reports on all of them: the worst first, the causes that several clusters
share, and what could not be read. It only reads.

--from DIR or s3://BUCKET/PREFIX reads the files that end in .json, each with one result or
several. Only the latest result of each cluster counts. Reading a bucket needs s3:ListBucket and
s3:GetObject.

Exit codes: 0 nothing found, 1 something could not be read, 2 findings, 130 interrupted.`,
		Example: `  rollcall report --profiles dev,prod --regions eu-west-1,us-east-1
  rollcall report --from s3://results/today/ --profile audit --html report.html`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return runReport(cmd.Context(), env, f) },
	}
	flags := c.Flags()
	flags.StringSliceVar(&f.profiles, "profiles", nil, "`NAMES` of the AWS profiles whose clusters to check, separated by commas")
	flags.StringSliceVar(&f.regions, "regions", nil, "`NAMES` of AWS regions, separated by commas (default that of each profile, or from the environment)")
	flags.BoolVar(&f.allRegions, "all-regions", false, "check every region that is enabled for each account")
	flags.StringVar(&f.from, "from", "", "`DIR`, or s3://BUCKET/PREFIX, of stored results to read instead")
	flags.StringVar(&f.policy, "policy", "", "policy `FILE` (default: the built-in policy)")
	flags.StringVar(&f.html, "html", "", "also write a standalone HTML page to this `FILE`")
	outputFlag(c, &f.output, outputTable, outputJSON, outputYAML)
	f.accountFlags(c, 15*time.Minute)
	flags.Lookup("profile").Usage = "`NAME` of the AWS profile that reads the bucket of --from (default AWS_PROFILE)"
	values(c, "profiles", profiles)
	values(c, "regions", f.namesOfRegions)
	return c
}

func (f *reportFlags) settle(env Environment) (settings, error) {
	s := settings{mode: policy.Observe}
	var faults []error
	keep := func(err error) { faults = append(faults, err) } // errors.Join leaves out nil
	keep(f.output.check())
	keep(placeable(f.html))
	_, err := f.access.settle("")
	keep(err)
	s.policy, err = readPolicy(env, f.policy)
	keep(err)
	switch stored := f.from != ""; {
	case stored == (len(f.profiles) > 0):
		keep(errors.New("give either --profiles NAMES or --from DIR"))
	case stored && (len(f.regions) > 0 || f.allRegions || f.policy != ""):
		keep(errors.New("--regions, --all-regions and --policy cannot be combined with --from: its results were made with them"))
	case !stored && f.profile != "":
		keep(errors.New("--profile is for --from: name the profiles to check with --profiles"))
	}
	return s, errors.Join(faults...)
}

func runReport(ctx context.Context, env Environment, f reportFlags) error {
	s, err := f.settle(env)
	if err != nil {
		return err
	}
	var checks []report.Check
	var unread []error
	err = f.within(ctx, env, func(ctx context.Context, p *progress) (err error) {
		if f.from == "" {
			checks, unread = f.checkProfiles(ctx, env, p, s)
			return nil
		}
		p.say("reading " + f.from)
		checks, unread, err = f.stored(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return interrupted(fmt.Sprintf("%d clusters were read", len(checks)))
	}
	if len(checks) == 0 && len(unread) > 0 {
		return errors.Join(unread...)
	}
	overview := report.Overview{At: env.Now(), Unread: roll.Map(unread, error.Error)}
	var older int
	if overview.Checks, older = report.Latest(checks); older > 0 {
		_, _ = fmt.Fprintf(env.Stderr, "rollcall: %d older %s left out: the latest of each cluster counts\n", older, roll.Plural(older, "result is", "results are"))
	}
	shown := answer(f.output, env, overview.Document, overview.Write)
	if err := errors.Join(shown, writePage(f.html, "report", overview.Page)); err != nil {
		return err
	}
	if len(unread) > 0 {
		return exit(ExitError)
	}
	return verdict(overview.Checks)
}

// checkProfiles checks the clusters of the profiles. What cannot be read of a profile is an error
// that names it.
func (f reportFlags) checkProfiles(ctx context.Context, env Environment, p *progress, s settings) ([]report.Check, []error) {
	var all []job
	var unread []error
	for _, profile := range f.profiles {
		of := checkFlags{access: f.access}
		of.profile = profile
		s.ledger = ledger.NewMemory()
		var jobs []job
		var faults []error
		accounts, err := of.connect(ctx, env, p, "")
		if err == nil {
			jobs, faults, err = of.jobs(ctx, env, s, p, accounts)
		}
		all = append(all, jobs...)
		for _, fault := range append(faults, err) {
			if fault != nil {
				unread = append(unread, fmt.Errorf("profile %s: %w", profile, fault))
			}
		}
	}
	checks := checkAll(ctx, p, all, env.Now)
	if err := f.missing(len(checks), len(all)); err != nil {
		unread = append(unread, err)
	}
	return checks, unread
}

// stored reads the results of --from. Files that cannot be read are returned as errors of their own.
func (f reportFlags) stored(ctx context.Context) (checks []report.Check, unread []error, err error) {
	files := 0
	keep := func(name string, data []byte, err error) {
		files++
		var found []report.Check
		if err == nil {
			found, err = report.Stored(name, data)
		}
		checks = append(checks, found...)
		if err != nil {
			unread = append(unread, err)
		}
	}
	err = f.eachOf(ctx, f.from, results, keep)
	if err == nil && files == 0 {
		err = fmt.Errorf("--from %s: there is no file that ends in .json", f.from)
	}
	return checks, unread, err
}

// results is the end of the names of files with results.
const results = ".json"

// keeper is called with a file or object, or the error of reading it.
type keeper func(name string, data []byte, err error)

// maxRead bounds what is read of one file or object.
const maxRead = 1 << 30

// bounded reads to the end, unless that is too far.
func bounded(from io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, most+1))
	if int64(len(data)) > most {
		return nil, fmt.Errorf("it is larger than %d bytes, the most that is read", most)
	}
	return data, err
}

// contents reads a file, which may be a pipe if a person named it.
func contents(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := bounded(file, most)
	return data, errors.Join(ofFlag(path, err), file.Close())
}

// regular reads a regular file. A pipe may never end, or never begin.
func regular(path string, most int64) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, ofFlag(path, errors.New("it is no regular file"))
	}
	return contents(path, most)
}

// eachOf reads what is below a folder, or s3://PLACE, and has a name that ends in suffix.
func (a access) eachOf(ctx context.Context, from, suffix string, keep keeper) error {
	wanted := func(name string) bool { return strings.HasSuffix(name, suffix) }
	place, inS3 := strings.CutPrefix(from, "s3://")
	if !inS3 {
		return ofFlag("--from", filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && wanted(path) {
				data, err := regular(path, maxRead)
				keep(path, data, err)
			}
			return err
		}))
	}
	if place == "" || place[0] == '/' {
		return errors.New("--from: it takes a folder, or s3://BUCKET/PREFIX")
	}
	cfg, err := a.ready(ctx)
	if err != nil {
		return err
	}
	return eachObject(ctx, cfg, place, wanted, keep)
}

// eachObject reads the objects with the wanted names. place is BUCKET/PREFIX.
func eachObject(ctx context.Context, cfg aws.Config, place string, wanted func(name string) bool, keep keeper) error {
	bucket, prefix, _ := strings.Cut(place, "/")
	client := s3.NewFromConfig(cfg)
	pages := s3.NewListObjectsV2Paginator(client, &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("s3://%s: %s", place, awserr.Describe(err, "s3:ListBucket", ""))
		}
		for _, o := range page.Contents {
			key := aws.ToString(o.Key)
			if !wanted(key) {
				continue
			}
			name := "s3://" + bucket + "/" + key
			data, err := object(ctx, client, bucket, key)
			if err != nil {
				err = fmt.Errorf("%s: %s", name, awserr.Describe(err, "s3:GetObject", ""))
			}
			keep(name, data, err)
		}
	}
	return nil
}

func object(ctx context.Context, client *s3.Client, bucket, key string) ([]byte, error) {
	out, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		return nil, err
	}
	data, err := bounded(out.Body, maxRead)
	return data, errors.Join(err, out.Body.Close())
}
