"""The report of a run as one file: a page that needs no network and runs no script, or Markdown for a pull request."""

from kb.campaign.drive import CampaignReport
from kb.errors import RunError
from kb.types.timing import WIN_MARGIN
from kb.views.report import Report
from kb.web.pages import STYLE, environment
from kb.web.progress import svg_of


def page(report: Report) -> str:
    """The report as HTML. Without matplotlib it has no curve, and says so."""
    curve, without = "", "No candidate has a time that counts, so there is no curve."
    try:
        curve = svg_of(report.progress)
    except RunError as error:
        without = f"{error.message}; {error.hint}"
    style = STYLE.read_text(encoding="utf-8")
    values = {"r": report, "curve": curve, "without": without, "style": style, "margin": WIN_MARGIN}
    return environment().get_template("report.html").render(values)


def markdown(report: Report) -> str:
    """What won, with its diff, in the Markdown of GitHub."""
    return environment().get_template("report.md").render(r=report)


def campaign_page(report: CampaignReport) -> str:
    """The table of a campaign as HTML."""
    style = STYLE.read_text(encoding="utf-8")
    return environment().get_template("campaign.html").render({"r": report, "style": style})
