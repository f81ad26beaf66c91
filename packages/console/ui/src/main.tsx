import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Router } from 'wouter'
import { basePath } from './api/client.ts'
import { queryClient } from './api/queries.ts'
import { Notices } from './parts/notices.tsx'
import { ErrorBoundary } from './shell/error-boundary.tsx'
import { Shell } from './shell/shell.tsx'
import { applyTheme, readTheme } from './shell/theme.ts'
import './styles/base.css'
import './styles/parts.css'
import './styles/pages.css'

applyTheme(readTheme())
const root = document.getElementById('root')
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <ErrorBoundary>
        <QueryClientProvider client={queryClient}>
          <Router base={basePath}>
            <Notices>
              <Shell />
            </Notices>
          </Router>
        </QueryClientProvider>
      </ErrorBoundary>
    </StrictMode>,
  )
