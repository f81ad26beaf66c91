import { Dialog } from '@base-ui/react/dialog'
import { Menu } from '@base-ui/react/menu'
import { lazy, Suspense, useEffect, useRef, useState } from 'react'
import { Link, Redirect, Route, Switch, useLocation } from 'wouter'
import { hasAny, PersonContext } from '../api/permissions.ts'
import { type Person, usePerson } from '../api/queries.ts'
import { ApprovalsPage } from '../approvals/approvals-page.tsx'
import { Empty, Failed, Loading } from '../parts/states.tsx'
import { TransferPage } from '../transfers/transfer-page.tsx'
import { TransfersPage } from '../transfers/transfers-page.tsx'
import { ErrorBoundary } from './error-boundary.tsx'
import { chooseTheme, readTheme, type Theme, themes } from './theme.ts'

const OverviewPage = lazy(async () => ({ default: (await import('../overview/overview-page.tsx')).OverviewPage }))
const BatchesPage = lazy(async () => ({ default: (await import('../batches/batches-page.tsx')).BatchesPage }))
const BatchPage = lazy(async () => ({ default: (await import('../batches/batch-page.tsx')).BatchPage }))
const AccountsPage = lazy(async () => ({ default: (await import('../accounts/accounts-page.tsx')).AccountsPage }))
const AccountPage = lazy(async () => ({ default: (await import('../accounts/account-page.tsx')).AccountPage }))
const SubscriptionsPage = lazy(async () => ({
  default: (await import('../subscriptions/subscriptions-page.tsx')).SubscriptionsPage,
}))
const PoliciesPage = lazy(async () => ({ default: (await import('../policies/policies-page.tsx')).PoliciesPage }))
const LimitsPage = lazy(async () => ({ default: (await import('../limits/limits-page.tsx')).LimitsPage }))
const AuditPage = lazy(async () => ({ default: (await import('../audit/audit-page.tsx')).AuditPage }))

const places = [
  ['Overview', '/overview'],
  ['Transfers', '/transfers'],
  ['Approvals', '/approvals'],
  ['Batches', '/batches'],
  ['Accounts', '/accounts'],
  ['Subscriptions', '/subscriptions'],
  ['Policies', '/policies'],
  ['Limits', '/limits'],
  ['Audit', '/audit'],
] as const

/** The frame of all pages: where one can go, who is logged in, and the page itself. */
export function Shell() {
  const person = usePerson()
  if (person.data === undefined)
    return (
      <main className="alone">
        {person.error === null ? (
          <Loading what="Reading who you are" />
        ) : (
          <Failed error={person.error} onRetry={() => void person.refetch()} />
        )}
      </main>
    )
  return (
    <PersonContext value={person.data}>
      <Frame person={person.data} />
    </PersonContext>
  )
}

function Frame({ person }: { readonly person: Person }) {
  const main = useRef<HTMLElement>(null)
  const [location] = useLocation()
  const isFirst = useRef(true)
  // With each change of the address: a page that was opened by a link begins at its top, also for who has it read aloud.
  useEffect(() => {
    if (isFirst.current) isFirst.current = false
    else {
      window.scrollTo(0, 0)
      main.current?.focus({ preventScroll: true })
    }
  }, [location])
  return (
    <div className="shell">
      <button type="button" className="skip" onClick={() => main.current?.focus()}>
        Skip to the page
      </button>
      <header className="side">
        <Brand />
        <nav aria-label="Pages" className="nav">
          <Places />
        </nav>
        <Who person={person} />
      </header>
      <header className="top">
        <Drawer person={person} />
        <Brand />
      </header>
      <main ref={main} tabIndex={-1}>
        <ErrorBoundary key={location}>
          <Suspense fallback={<Loading />}>
            {hasAny(person, 'read') ? (
              <Pages />
            ) : (
              <Empty title="You may see nothing here yet">
                {person.actor} is logged in and has no permission. Ask whoever gives permissions in your application.
              </Empty>
            )}
          </Suspense>
        </ErrorBoundary>
      </main>
    </div>
  )
}

const Brand = () => (
  <Link href="/overview" className="brand">
    <span aria-hidden="true" className="mark">
      ↗
    </span>
    Outlay
  </Link>
)

function Places({ onGo }: { readonly onGo?: () => void }) {
  const [location] = useLocation()
  return (
    <ul>
      {places.map(([name, path]) => {
        const isHere = location === path || location.startsWith(`${path}/`)
        return (
          <li key={path}>
            <Link
              href={path}
              aria-current={isHere ? 'page' : undefined}
              {...(onGo === undefined ? {} : { onClick: onGo })}
            >
              {name}
            </Link>
          </li>
        )
      })}
    </ul>
  )
}

function Pages() {
  return (
    <Switch>
      <Route path="/" component={() => <Redirect to="/overview" replace />} />
      <Route path="/overview" component={OverviewPage} />
      <Route path="/transfers" component={TransfersPage} />
      <Route path="/transfers/:id">{({ id }) => <TransferPage key={id} id={id} />}</Route>
      <Route path="/approvals" component={ApprovalsPage} />
      <Route path="/batches" component={BatchesPage} />
      <Route path="/batches/:id">{({ id }) => <BatchPage key={id} id={id} />}</Route>
      <Route path="/accounts" component={AccountsPage} />
      <Route path="/accounts/:id">{({ id }) => <AccountPage key={id} id={decodeURIComponent(id)} />}</Route>
      <Route path="/subscriptions" component={SubscriptionsPage} />
      <Route path="/policies" component={PoliciesPage} />
      <Route path="/limits" component={LimitsPage} />
      <Route path="/audit" component={AuditPage} />
      <Route>
        <Empty title="There is no such page">Choose one of the navigation.</Empty>
      </Route>
    </Switch>
  )
}

const permissionWords = [
  ['read', 'see'],
  ['act', 'act'],
  ['approve', 'approve'],
  ['configure', 'configure'],
] as const

function Who({ person }: { readonly person: Person }) {
  const scope = (accounts: unknown) =>
    accounts === 'all'
      ? 'all accounts'
      : Array.isArray(accounts) && accounts.length > 0
        ? accounts.join(', ')
        : 'nothing'
  return (
    <div className="who">
      <details>
        <summary>
          <span className="avatar" aria-hidden="true">
            {person.actor.charAt(0).toUpperCase()}
          </span>
          <span className="ellipsis">{person.actor}</span>
        </summary>
        <dl>
          {person.roles.length === 0 ? null : (
            <div>
              <dt>roles</dt>
              <dd>{person.roles.join(', ')}</dd>
            </div>
          )}
          {permissionWords.map(([name, word]) => (
            <div key={name}>
              <dt>may {word}</dt>
              <dd className="ellipsis">{scope(person.permissions[name])}</dd>
            </div>
          ))}
        </dl>
      </details>
      <ThemeMenu />
    </div>
  )
}

function ThemeMenu() {
  const [theme, setTheme] = useState<Theme>(readTheme)
  const icons = { system: '◐', light: '☀', dark: '☾' } as const
  return (
    <Menu.Root>
      <Menu.Trigger className="icon-button" aria-label={`Theme: ${theme}`} title="Theme">
        {icons[theme]}
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={6} className="over">
          <Menu.Popup className="menu">
            <Menu.RadioGroup
              value={theme}
              onValueChange={(value: Theme) => {
                chooseTheme(value)
                setTheme(value)
              }}
            >
              {themes.map((one) => (
                <Menu.RadioItem key={one} value={one} className="menu-item" closeOnClick>
                  <span aria-hidden="true">{icons[one]}</span>{' '}
                  {one === 'system' ? 'As the system' : one === 'light' ? 'Light' : 'Dark'}
                </Menu.RadioItem>
              ))}
            </Menu.RadioGroup>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}

function Drawer({ person }: { readonly person: Person }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <Dialog.Root open={isOpen} onOpenChange={setOpen}>
      <Dialog.Trigger className="icon-button" aria-label="Open the navigation">
        ☰
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="drawer">
          <Dialog.Title className="visually-hidden">Navigation</Dialog.Title>
          <Brand />
          <nav aria-label="Pages" className="nav">
            <Places onGo={() => setOpen(false)} />
          </nav>
          <Who person={person} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
