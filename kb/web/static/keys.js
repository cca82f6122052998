// `/` moves to the search box, as on many sites; where there is none, to the page that has it.
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, select, textarea");
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || typing) return;
  event.preventDefault();
  const box = document.getElementById("q");
  if (box) box.focus();
  else location.assign("/");
});
