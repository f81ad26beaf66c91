import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { run as lint } from 'dockerfilelint'
import { validate as validateDeployment } from 'kubernetes-models/_schemas/IoK8sApiAppsV1Deployment'
import { validate as validateJob } from 'kubernetes-models/_schemas/IoK8sApiBatchV1Job'
import { validate as validateService } from 'kubernetes-models/_schemas/IoK8sApiCoreV1Service'
import { validate as validateBudget } from 'kubernetes-models/_schemas/IoK8sApiPolicyV1PodDisruptionBudget'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'

const deploy = join(import.meta.dirname, '../../../deploy')
const read = (path: string) => readFileSync(join(deploy, path), 'utf8')

/** The members of a manifest that these tests read. */
interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly selector?: unknown
    readonly ports?: readonly { readonly targetPort: string }[]
    readonly template?: { readonly metadata: { readonly labels: Readonly<Record<string, string>> }; readonly spec: Pod }
  }
}
interface Pod {
  readonly containers: readonly Container[]
  readonly terminationGracePeriodSeconds?: number
  readonly automountServiceAccountToken?: boolean
  readonly securityContext?: unknown
}
interface Container {
  readonly image: string
  readonly args: readonly string[]
  readonly env: readonly { readonly name: string; readonly value?: string }[]
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
  readonly livenessProbe?: { readonly httpGet: { readonly path: string; readonly port: string } }
  readonly readinessProbe?: { readonly httpGet: { readonly path: string; readonly port: string } }
  readonly securityContext?: unknown
}

interface Validate {
  (manifest: unknown): boolean
  readonly errors?: readonly object[] | null
}

const schemas = {
  Deployment: validateDeployment,
  Job: validateJob,
  PodDisruptionBudget: validateBudget,
  Service: validateService,
} as unknown as Readonly<Record<string, Validate | undefined>>

const readManifests = (text: string): readonly Manifest[] =>
  parseAllDocuments(text).map((document) => {
    expect(document.errors).toEqual([])
    return document.toJS() as Manifest
  })

const manifests = readdirSync(join(deploy, 'kubernetes')).flatMap((name) => readManifests(read(`kubernetes/${name}`)))
const pods = manifests.flatMap(({ spec, metadata: { name } }) =>
  spec.template === undefined ? [] : [{ name, ...spec.template }],
)

/** Wraps a value, so that `unread` loses each member that somebody reads. */
function watch<T>(value: T, path: string, unread: Set<string>): T {
  if (typeof value !== 'object' || value === null) return value
  const inner = Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, watch(one, `${path}.${key}`, unread)]),
  )
  for (const key of Object.keys(value)) unread.add(`${path}.${key}`)
  const target = Array.isArray(value) ? Object.assign([...value], inner) : inner
  return new Proxy(target, {
    get(from, key) {
      unread.delete(`${path}.${String(key)}`)
      return Reflect.get(from, key)
    },
  }) as T
}

/** What the schema of Kubernetes does not accept: what it says, and members that it never reads, which are misspelled. */
function findMistakes(manifest: Manifest): readonly string[] {
  const validate = schemas[manifest.kind]
  if (validate === undefined) return [`There is no schema for ${manifest.kind}.`]
  const unread = new Set<string>()
  const isValid = validate(watch(manifest, manifest.kind, unread))
  return isValid ? [...unread] : [JSON.stringify(validate.errors)]
}

describe('the manifests of Kubernetes', () => {
  it('are of its schemas', () => {
    expect(manifests.map(({ kind, metadata: { name } }) => `${kind} ${name}`)).toEqual([
      'Job payroll-migration',
      'Job bank-migration',
      'Deployment bank',
      'Service bank',
      'PodDisruptionBudget bank',
      'Deployment payroll-worker',
      'PodDisruptionBudget payroll-worker',
    ])
    for (const manifest of manifests)
      expect([manifest.metadata.name, findMistakes(manifest)]).toEqual([manifest.metadata.name, []])
  })

  it('run without rights, and take secrets by reference only', () => {
    for (const { name, spec } of pods) {
      expect([name, spec.automountServiceAccountToken]).toEqual([name, false])
      expect(spec.securityContext).toEqual({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
      for (const container of spec.containers) {
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        })
        const written = container.env.filter(({ value }) => value !== undefined)
        // Over TLS: credentials go there.
        for (const { name, value } of written)
          expect([name, value]).toEqual(['SERVICE_URL', expect.stringMatching(/^https:/)])
      }
    }
  })

  it('give processes the time to stop that the engine may take, and probe ports that they have', () => {
    const running = pods.filter(({ spec }) => spec.containers.some(({ livenessProbe }) => livenessProbe !== undefined))
    expect(running.map(({ name }) => name)).toEqual(['bank', 'payroll-worker'])
    for (const { name, spec } of running) {
      // stopTimeoutMs, what statements may take after it, and two seconds of the probes.
      expect([name, (spec.terminationGracePeriodSeconds ?? 0) > 22]).toEqual([name, true])
      for (const { ports = [], livenessProbe, readinessProbe } of spec.containers) {
        const portOf = (name?: string) => ports.find((port) => port.name === name)?.containerPort
        expect([livenessProbe?.httpGet.path, portOf(livenessProbe?.httpGet.port)]).toEqual(['/live', 8_080])
        expect([readinessProbe?.httpGet.path, typeof portOf(readinessProbe?.httpGet.port)]).toEqual([
          '/ready',
          'number',
        ])
      }
    }
  })

  it('name the jobs that the alarms ask for, as each configuration of Prometheus does', () => {
    const asked = new Set(
      [...read('prometheus/alerts.yaml').matchAll(/absent\([^)]*job=\\"(\w+)\\"/g)].map(([, job]) => job),
    )
    expect(asked.size).toBe(2)
    const running = pods.filter(({ spec }) => spec.containers.some(({ livenessProbe }) => livenessProbe !== undefined))
    expect(new Set(running.map(({ metadata }) => metadata.labels['prometheus.io/job']))).toEqual(asked)
    const { scrape_configs: scraped } = parse(read('prometheus/prometheus.yaml')) as {
      readonly scrape_configs: readonly { readonly job_name: string }[]
    }
    expect(new Set(scraped.map(({ job_name: job }) => job))).toEqual(asked)
    expect(read('prometheus/kubernetes.yaml')).toMatch(
      /source_labels: \[__meta_kubernetes_pod_label_prometheus_io_job\]\n\s+target_label: job\n/,
    )
  })

  it('run commands that the program has, in one image', () => {
    const program = readFileSync(join(import.meta.dirname, 'main.ts'), 'utf8')
    for (const { args } of pods.flatMap(({ spec }) => spec.containers))
      expect([args, args.every((name) => new RegExp(`^  (async )?'?${name}'?[(:]`, 'm').test(program))]).toEqual([
        args,
        true,
      ])
    expect(new Set(pods.flatMap(({ spec }) => spec.containers.map(({ image }) => image))).size).toBe(1)
  })

  it('have a check that finds a missing member, a wrong type and a misspelled member', () => {
    const [job] = manifests
    const change = (edit: (spec: Record<string, unknown>) => void) => {
      const copy = structuredClone(job) as unknown as Manifest & { spec: Record<string, unknown> }
      edit(copy.spec)
      return findMistakes(copy)
    }
    expect(change((spec) => delete spec['template'])).toEqual([expect.stringContaining('template')])
    expect(change((spec) => Object.assign(spec, { backoffLimit: '3' }))).toEqual([expect.stringContaining('integer')])
    expect(change((spec) => Object.assign(spec, { backofLimit: 3 }))).toEqual(['Job.spec.backofLimit'])
  })
})

describe('the compose file', () => {
  const compose = parse(read('compose.yaml'), { merge: true }) as {
    readonly services: Readonly<
      Record<
        string,
        {
          readonly image: string
          readonly depends_on?: object
          readonly command?: readonly string[]
          readonly ports?: readonly string[]
          readonly volumes?: readonly string[]
          readonly stop_grace_period?: string
        }
      >
    >
    readonly volumes: object
  }

  it('names services, volumes and files that are there, and opens ports on this machine only', () => {
    const { services, volumes } = compose
    for (const { depends_on: before = {}, ports = [], volumes: mounted = [] } of Object.values(services)) {
      for (const name of Object.keys(before)) expect(Object.keys(services)).toContain(name)
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/)
      for (const volume of mounted) {
        const [from = ''] = volume.split(':')
        if (from.startsWith('./')) expect([from, readFileOrFolder(from)]).toEqual([from, true])
        else expect(Object.keys(volumes)).toContain(from)
      }
    }
  })

  it('gives a password in a variable of its own, where every character is allowed', () => {
    const text = read('compose.yaml')
    expect(text.match(/^ +PGPASSWORD: \$\{POSTGRES_PASSWORD:-[\w-]+\}$/gm)).toHaveLength(2)
    expect(text).not.toMatch(/:\/\/[^\s]*\$\{/)
  })

  it.each([
    ['bank', '150s'],
    ['worker', '30s'],
  ])('gives %s %s to stop, as Kubernetes does', (name, time) => {
    expect(compose.services[name]?.stop_grace_period).toBe(time)
  })
})

function readFileOrFolder(path: string): boolean {
  try {
    readdirSync(join(deploy, path))
    return true
  } catch {
    return readFileSync(join(deploy, path)).length > 0
  }
}

describe('images', () => {
  it('are built by a Dockerfile without a finding of dockerfilelint', () => {
    const text = read('Dockerfile')
    const defaults = new Map(
      [...text.matchAll(/^ARG (\w+)=(\S+)$/gm)].map(([, name = '', value = '']) => [name, value]),
    )
    // The linter does not know that an argument may name an image.
    const filled = text.replaceAll(/^FROM \$\{(\w+)\}/gm, (_, name: string) => `FROM ${defaults.get(name)}`)
    expect(filled).toMatch(/^FROM node:\S+$/m)
    expect(lint('./', filled)).toEqual([])
    expect(lint('./', `${filled}\nRUN sudo true\n`)).toHaveLength(1)
  })

  it('are built with the release of pnpm that package.json names', () => {
    const text = read('Dockerfile')
    expect(text).toContain(`npm install --global "$(node -p "require('./package.json').packageManager")"`)
    expect(text).not.toMatch(/npx|pnpm@/)
    const { packageManager } = JSON.parse(readFileSync(join(deploy, '../package.json'), 'utf8'))
    expect(packageManager).toMatch(/^pnpm@\d+\.\d+\.\d+$/)
  })

  it('run without root, with Node as the first process and a check by the program itself', () => {
    const last =
      read('Dockerfile')
        .split(/^FROM /m)
        .at(-1) ?? ''
    expect(last).toMatch(/^USER ([1-9]\d+):\1$/m)
    expect(last).toMatch(/^ENTRYPOINT \["node", "dist\/main.mjs"\]$/m)
    expect(last).toMatch(/^HEALTHCHECK .* CMD \["node", "dist\/check.mjs"\]$/m)
  })

  it('have plain names, without a registry', () => {
    const texts = [
      'Dockerfile',
      'compose.yaml',
      'kubernetes/worker.yaml',
      'kubernetes/service.yaml',
      'kubernetes/migration.yaml',
    ]
    for (const text of texts.map(read)) {
      const images = [...text.matchAll(/(?:^\s*image: |^FROM |_IMAGE[=:-]+)([^\s}]+)/gm)].map(([, image = '']) => image)
      for (const image of images) expect(image).not.toMatch(/^[^/]*\.[^/]*\//)
    }
  })
})
