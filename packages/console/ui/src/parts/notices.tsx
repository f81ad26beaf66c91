import { Toast } from '@base-ui/react/toast'
import type { ReactNode } from 'react'

/** Shows what was done, for a while, and reads it to those who do not see it. */
export function Notices({ children }: { readonly children: ReactNode }) {
  return (
    <Toast.Provider timeout={8_000}>
      {children}
      <Toast.Portal>
        <Toast.Viewport className="notices">
          <NoticeList />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  )
}

function NoticeList() {
  const { toasts } = Toast.useToastManager()
  return toasts.map((toast) => (
    <Toast.Root key={toast.id} toast={toast} className="notice">
      <Toast.Content className="notice-content">
        <Toast.Title className="notice-title" />
        <Toast.Description className="notice-text" />
        <Toast.Close className="icon-button" aria-label="Close">
          ×
        </Toast.Close>
      </Toast.Content>
    </Toast.Root>
  ))
}

/** Gives the function that shows a notice. */
export function useNotice(): (title: string, description?: string) => void {
  const { add } = Toast.useToastManager()
  return (title, description) => {
    add({ title, description })
  }
}
