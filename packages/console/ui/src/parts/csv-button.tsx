import { useState } from 'react'
import { basePath, writeQuery } from '../api/client.ts'
import { useNotice } from './notices.tsx'

/** Saves what is filtered as a file for spreadsheets. */
export function CsvButton({
  file,
  filter,
}: {
  readonly file: 'transfers.csv' | 'audit.csv'
  readonly filter: Readonly<Record<string, unknown>>
}) {
  const [isSaving, setSaving] = useState(false)
  const notify = useNotice()
  const save = async () => {
    setSaving(true)
    try {
      const response = await fetch(`${basePath}/api/${file}${writeQuery(filter)}`)
      if (!(response.headers.get('content-type') ?? '').startsWith('text/csv') || !response.ok) {
        const problem = (await response.json().catch(() => ({}))) as { readonly detail?: string }
        return notify('There is no file', problem.detail ?? 'The server refused it.')
      }
      const link = document.createElement('a')
      link.href = URL.createObjectURL(await response.blob())
      link.download = file
      link.click()
      URL.revokeObjectURL(link.href)
    } catch {
      notify('There is no file', 'The server does not answer.')
    } finally {
      setSaving(false)
    }
  }
  return (
    <button type="button" className="button" disabled={isSaving} onClick={() => void save()}>
      {isSaving ? 'Saving …' : 'CSV'}
    </button>
  )
}
