// Asks the server again while a person chooses, and keeps a double click from sending twice. The page works without it.
const form = document.querySelector('[data-checkout]')
if (form) {
  document.documentElement.classList.add('js')
  let change = 0
  let timer

  const refresh = async () => {
    const asked = ++change
    const fields = new URLSearchParams(new FormData(form))
    for (const name of ['card_number', 'card_expiry', 'card_cvc']) fields.delete(name)
    fields.set('action', 'update')
    try {
      const answer = await fetch(form.getAttribute('action'), { method: 'POST', body: fields })
      const text = await answer.text()
      // What was typed meanwhile asks again by itself; this answer would be old.
      if (asked === change && answer.ok) show(new DOMParser().parseFromString(text, 'text/html'))
    } catch {
      // Away from the network the form still works: the server looks at everything again.
    }
  }

  const show = page => {
    const focused = document.activeElement?.id
    for (const part of form.querySelectorAll('[data-part]')) {
      const fresh = page.querySelector(`[data-part="${part.dataset.part}"]`)
      if (fresh && fresh.innerHTML !== part.innerHTML) part.innerHTML = fresh.innerHTML
    }
    if (focused && document.activeElement?.id !== focused) document.getElementById(focused)?.focus()
    showMethod()
  }

  const showMethod = () => {
    const box = form.querySelector('.cardbox')
    const method = form.querySelector('[name="method"]:checked')
    if (box) box.hidden = Boolean(method && method.value !== 'card')
  }

  form.addEventListener('input', event => {
    if (event.target.name === 'card_number') {
      const digits = event.target.value.replace(/\D/g, '').slice(0, 19)
      if (event.target.selectionStart === event.target.value.length)
        event.target.value = digits.replace(/(.{4})(?=.)/g, '$1 ')
    }
    if (!event.target.closest('[data-live]')) return
    change++
    clearTimeout(timer)
    timer = setTimeout(refresh, event.target.type === 'text' ? 500 : 60)
  })
  form.addEventListener('change', showMethod)
  form.addEventListener('keydown', event => {
    if (event.key !== 'Enter' || event.target.name !== 'coupon') return
    event.preventDefault()
    clearTimeout(timer)
    refresh()
  })
  form.addEventListener('submit', event => {
    if (event.submitter?.value === 'update') {
      event.preventDefault()
      clearTimeout(timer)
      return void refresh()
    }
    if (form.dataset.sent) return event.preventDefault()
    form.dataset.sent = 'yes'
    const button = form.querySelector('.paybar .button')
    button?.setAttribute('aria-disabled', 'true')
    if (button?.dataset.working) button.textContent = button.dataset.working
  })
  // A page that comes back from the browser's memory may be sent again; the server knows what was done.
  addEventListener('pageshow', event => {
    if (event.persisted) location.reload()
  })
  showMethod()
}
document.getElementById('faults')?.focus()
for (const once of document.querySelectorAll('form[data-once]'))
  once.addEventListener('submit', event => {
    if (once.dataset.sent) event.preventDefault()
    once.dataset.sent = 'yes'
  })
